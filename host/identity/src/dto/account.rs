//! Bodies of `/api/account`.

use qm_kernel::{Role, Secret, Timestamp};
use qm_web::{Fields, FromBody};
use serde::Serialize;
use utoipa::ToSchema;

use super::display_name_change;
use crate::model::answers::Setup;
use crate::model::{Change, Profile, ProfileChange};

/// Far longer than the name of any time zone.
const MAX_TIMEZONE: usize = 64;
const MAX_CODE: usize = 64;

/// The caller's own account.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileView {
    /// UUID.
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    #[schema(value_type = Vec<String>, example = json!(["ADMINISTRATOR"]))]
    pub roles: Vec<Role>,
    /// IANA zone name; null = follow the device.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
    pub two_factor_enabled: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_login_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// Changes of the profile; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct UpdateProfile {
    #[field(email)]
    pub email: Option<String>,
    /// `null` or blank removes it.
    #[field(with = display_name_change)]
    #[schema(value_type = Option<String>)]
    pub display_name: Change<String>,
    /// IANA zone name. `null`, empty and `auto` follow the device.
    #[field(with = timezone_change)]
    #[schema(value_type = Option<String>, example = "Europe/Berlin")]
    pub timezone: Change<String>,
}

/// State of the second factor at login.
#[derive(Serialize, ToSchema)]
pub struct TwoFactorView {
    pub enabled: bool,
}

/// Data for an authenticator app. Shown once; another setup replaces it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TwoFactorSetup {
    /// Base32, to be typed.
    #[schema(example = "JBSWY3DPEHPK3PXP")]
    pub secret: String,
    /// The same as a URI.
    #[schema(
        example = "otpauth://totp/Quartermaster:admin?secret=JBSWY3DPEHPK3PXP&period=30&digits=6&algorithm=SHA1&issuer=Quartermaster"
    )]
    pub otpauth_url: String,
    /// The URI as a QR code: a PNG in a `data:` URL.
    pub qr_data_url: String,
}

/// A code that the authenticator shows.
#[derive(ToSchema, FromBody)]
pub struct CodeRequest {
    #[field(max = MAX_CODE)]
    #[schema(value_type = String, example = "123456")]
    pub code: Secret,
}

/// The account's password, as a confirmation.
#[derive(ToSchema, FromBody)]
pub struct PasswordRequest {
    #[schema(value_type = String)]
    pub password: Secret,
}

/// Codes that each stand in for the authenticator once. Shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodes {
    #[schema(min_items = 10, max_items = 10, example = json!(["0f3a1-9bc27-44d0e-8a6b5"]))]
    pub recovery_codes: Vec<String>,
}

impl From<Profile> for ProfileView {
    fn from(profile: Profile) -> Self {
        let Profile {
            id,
            username,
            email,
            display_name,
            roles,
            timezone,
            two_factor,
            last_login_at,
            created_at,
        } = profile;
        Self {
            id,
            username,
            email,
            display_name,
            roles,
            timezone,
            two_factor_enabled: two_factor,
            last_login_at,
            created_at,
        }
    }
}

impl From<Setup> for TwoFactorSetup {
    fn from(setup: Setup) -> Self {
        Self {
            secret: setup.seed.expose().to_owned(),
            otpauth_url: setup.otpauth_url.expose().to_owned(),
            qr_data_url: setup.qr_data_url.expose().to_owned(),
        }
    }
}

impl From<Vec<Secret>> for RecoveryCodes {
    fn from(codes: Vec<Secret>) -> Self {
        Self {
            recovery_codes: codes.iter().map(|code| code.expose().to_owned()).collect(),
        }
    }
}

impl From<UpdateProfile> for ProfileChange {
    fn from(body: UpdateProfile) -> Self {
        let UpdateProfile {
            email,
            display_name,
            timezone,
        } = body;
        Self {
            email,
            display_name,
            timezone,
        }
    }
}

fn timezone_change(f: &mut Fields<'_>, name: &'static str) -> Change<String> {
    let cleared = f.is_null(name);
    match f.string(name).max(MAX_TIMEZONE).optional() {
        Some(zone) => Change::Set(zone),
        None if cleared => Change::Clear,
        None => Change::Keep,
    }
}
