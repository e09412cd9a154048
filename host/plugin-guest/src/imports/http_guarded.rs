//! `http-guarded`: requests to addresses that users choose. Granted by an administrator, by the word `http-guarded`; where a
//! request may lead is decided by the URL guard of `qm-net`.

use qm_net::GuardedError;
use wasmtime::Result;
use wasmtime::component::Resource;

use super::Response;
use super::http::taken;
use super::wit::http::Request;
use super::wit::http_guarded;
use super::wit::transport::NetError;
use crate::services::capability::HTTP_GUARDED;
use crate::state::State;

impl http_guarded::Host for State {
    async fn send(
        &mut self,
        request: Request,
    ) -> Result<Result<Resource<Response>, http_guarded::GuardedError>> {
        use http_guarded::GuardedError as Told;
        if let Err(refusal) = self.check_grant(HTTP_GUARDED) {
            return Ok(Err(Told::Net(NetError::Denied(refusal))));
        }
        let (request, _held) = taken(self, request)?;
        let network = self.network.clone();
        Ok(match network.send_guarded(request).await {
            Ok(response) => Ok(self.table.push(response)?),
            Err(GuardedError::Refused(why)) => Err(Told::Refused(why.to_string())),
            Err(GuardedError::Redirect(status)) => Err(Told::Redirect(status)),
            Err(GuardedError::Dial(error)) => Err(Told::Net(error.into())),
        })
    }
}
