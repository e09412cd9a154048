//! Routes of all media crates, as those of one area.

#[cfg(test)]
mod tests;

use qm_web::Routes;

use crate::service::Library;

/// Routes of all media crates, for the API document.
pub fn described() -> Routes {
    qm_catalogue::routes()
        .described()
        .merge(qm_identify::routes().described())
        .merge(qm_orders::routes().described())
        .merge(qm_scan::routes().described())
}

/// Routes of all media crates.
pub fn all(library: &Library) -> Routes {
    let catalogue: Routes = qm_catalogue::routes().with_state(library.catalogue.clone());
    catalogue
        .merge(qm_identify::routes().with_state(library.identify.clone()))
        .merge(qm_orders::routes().with_state(library.orders.clone()))
        .merge(qm_scan::routes().with_state(library.scanner.clone()))
}
