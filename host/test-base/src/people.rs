//! Callers, and tokens that name them.

use std::net::{IpAddr, Ipv4Addr};

use qm_kernel::{ClientInfo, PermissionSet, Principal, Role, Timestamp, TokenError, TokenVerifier};

/// The user `u`, with one role and what it grants, whose token never ends.
pub fn principal(role: Role) -> Principal {
    Principal {
        user_id: "u".into(),
        username: "u".into(),
        roles: vec![role],
        permissions: role.permissions().collect::<PermissionSet>(),
        expires_at: Timestamp::from_ms(i64::MAX),
    }
}

/// A caller on this machine.
pub fn client() -> ClientInfo {
    ClientInfo {
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        forwarded: "127.0.0.1".into(),
        user_agent: None,
        request_id: String::new(),
    }
}

/// Tokens are the names of roles; the caller is [`principal`] of that role.
pub struct RoleTokens;

impl TokenVerifier for RoleTokens {
    fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        Role::from_name(token)
            .map(principal)
            .ok_or(TokenError::Unauthorized)
    }
}

/// No token is good.
pub struct NoTokens;

impl TokenVerifier for NoTokens {
    fn verify(&self, _token: &str) -> Result<Principal, TokenError> {
        Err(TokenError::Unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_name_of_a_role() {
        for role in Role::ALL {
            let caller = RoleTokens.verify(role.name()).expect("a role");
            assert_eq!(caller.roles, [*role]);
            assert!(
                role.permissions()
                    .all(|permission| caller.has_permission(permission))
            );
        }
        for token in ["", "nobody"] {
            assert!(RoleTokens.verify(token).is_err());
        }
        assert!(NoTokens.verify("SUPER_ADMIN").is_err());
    }
}
