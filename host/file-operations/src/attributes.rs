//! Extended attributes of a file: those of the user, and POSIX access lists. They are copied where both file systems have
//! them; a failure here never fails the copy. The system's own attributes, such as capabilities, are not touched.

use std::os::fd::AsFd;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

/// The kernel's own limit of a list of names, and of a value.
const MAX_BYTES: usize = 64 * 1024;
const USER: &[u8] = b"user.";
const LISTS: &[&[u8]] = &[b"system.posix_acl_access", b"system.posix_acl_default"];

/// `user.*`
pub(super) fn keep_users(from: impl AsFd, to: impl AsFd) {
    keep(from, to, |name| name.starts_with(USER));
}

/// Copies access control lists: that of the file, and the default list that a directory gives to new entries.
pub(super) fn keep_lists(from: impl AsFd, to: impl AsFd) {
    keep(from, to, |name| LISTS.contains(&name));
}

fn keep(from: impl AsFd, to: impl AsFd, wanted: impl Fn(&[u8]) -> bool) {
    let mut names = [0; 1024];
    let mut more = Vec::new();
    let names = match flistxattr(&from, &mut names[..]) {
        Ok(length) => &names[..length],
        Err(rustix::io::Errno::RANGE) => {
            more.resize(MAX_BYTES, 0);
            let Ok(length) = flistxattr(&from, &mut more[..]) else {
                return;
            };
            &more[..length]
        }
        Err(_) => return,
    };
    let mut value = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| wanted(name)) {
        value.resize(MAX_BYTES, 0);
        if let Ok(length) = fgetxattr(&from, name, &mut value[..]) {
            // The other file system may not have them.
            let _ = fsetxattr(&to, name, &value[..length], XattrFlags::empty());
        }
    }
}
