//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_web::faults;

use crate::error::IdentityError as E;

faults! {
    Login => [E::InvalidCredentials, E::TwoFactorRequired, E::InvalidTwoFactorCode, E::TooManyAttempts, E::Busy];
    Refresh => [
        E::MalformedRefreshToken,
        E::InvalidRefreshToken,
        E::RefreshTokenReused,
        E::RefreshTokenRevoked,
        E::RefreshTokenExpired,
        E::AccountDisabled,
    ];
    /// The token is valid, but its user is deleted.
    OwnAccount => [E::NoSuchUser];
    ChangeProfile => [gone(), E::UnknownTimezone("…".to_owned()), E::EmailTaken];
    ChangePassword => [gone(), E::WrongCurrentPassword, E::TooManyAttempts, E::Busy];
    SetUpTwoFactor => [gone(), E::TwoFactorAlreadyEnabled];
    EnableTwoFactor => [
        gone(),
        E::TwoFactorAlreadyEnabled,
        E::TwoFactorNotSetUp,
        E::InvalidVerificationCode,
        E::TooManyAttempts,
    ];
    DisableTwoFactor => [gone(), E::IncorrectPassword, E::TooManyAttempts, E::Busy];
    RenewRecoveryCodes => [
        gone(),
        E::TwoFactorNotEnabled,
        E::InvalidVerificationCode,
        E::TooManyAttempts,
    ];
    CreateUser => [E::UnknownRoles, E::GrantsSuperAdmin, E::UsernameTaken, E::EmailTaken, E::Busy];
    UpdateUser => [
        E::UserNotFound,
        E::UnknownRoles,
        E::GrantsSuperAdmin,
        E::ChangesSuperAdmin,
        E::OwnRoles,
        E::LastSuperAdmin,
        E::EmailTaken,
    ];
    DeleteUser => [E::UserNotFound, E::SystemUser, E::ChangesSuperAdmin, E::LastSuperAdmin];
}

/// The token is valid, but its user is deleted or deactivated.
fn gone() -> E {
    E::Acting(ActingError::Gone)
}
