//! Debian's nginx as the HTTP door of an rTorrent: `POST /RPC2` is passed on over SCGI.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Process, free_port};

const USERNAME: &str = "box";
const PASSWORD: &str = "nginx-secret-52c1";

/// A running nginx in the foreground, one process.
pub struct Nginx {
    _process: Process,
    port: u16,
    _dir: TempDir,
}

impl Nginx {
    /// Passes `/RPC2` to the SCGI server behind `socket`, for who knows the password.
    pub async fn scgi_pass(socket: &Path) -> Nginx {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for _ in 0..5 {
            let port = free_port();
            std::fs::write(dir.path().join("nginx.conf"), config(dir.path(), socket, port))
                .expect("our own directory");
            std::fs::write(
                dir.path().join("users"),
                format!("{USERNAME}:{{PLAIN}}{PASSWORD}\n"),
            )
            .expect("our own directory");
            let mut command = Command::new("/usr/sbin/nginx");
            command
                .arg("-p")
                .arg(dir.path())
                .arg("-c")
                .arg(dir.path().join("nginx.conf"))
                .args(["-e", "stderr"]);
            let mut process = Process::start("nginx", dir.path(), &mut command);
            while process.exit_status().is_none() {
                if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                    return Nginx {
                        _process: process,
                        port,
                        _dir: dir,
                    };
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        panic!("nginx found no port it could bind");
    }

    /// The user name and password that it lets in.
    pub fn login(&self) -> (&'static str, &'static str) {
        (USERNAME, PASSWORD)
    }

    /// The XML-RPC endpoint.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/RPC2", self.port)
    }
}

fn config(dir: &Path, socket: &Path, port: u16) -> String {
    let (dir, socket) = (dir.display(), socket.display());
    format!(
        "daemon off;\nmaster_process off;\npid {dir}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n  access_log off;\n  \
         client_max_body_size 64m;\n  client_body_temp_path {dir}/body;\n  scgi_temp_path {dir}/scgi;\n  proxy_temp_path {dir}/proxy;\n  \
         fastcgi_temp_path {dir}/fastcgi;\n  uwsgi_temp_path {dir}/uwsgi;\n  server {{\n    listen 127.0.0.1:{port};\n    \
         location /RPC2 {{\n      auth_basic box;\n      auth_basic_user_file {dir}/users;\n      scgi_pass unix:{socket};\n      include /etc/nginx/scgi_params;\n      scgi_param SCGI 1;\n    }}\n  }}\n}}\n"
    )
}
