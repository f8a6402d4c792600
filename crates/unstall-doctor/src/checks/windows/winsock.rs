//! The Winsock catalogue: which libraries, beside Windows' own, every socket goes through.

use super::only_on_windows;
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, system};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use unstall_sys::providers::{self, Place, Provider};

pub(in crate::checks) struct Winsock;

/// The Winsock catalogue.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "WinsockData")]
pub(in crate::checks) struct Data {
    /// Its entries, in their order.
    entries: Vec<Entry>,
}

/// An entry of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WinsockEntry")]
pub(in crate::checks) struct Entry {
    /// What it calls itself.
    name: String,
    /// The library that it is made of; null: not told.
    library: Option<String>,
    /// `base`: it talks to the kernel; `layer`; `chain`: a layer over others.
    place: &'static str,
    /// Whether the library is one that Windows ships; null: the library is not known.
    of_windows: Option<bool>,
}

/// The libraries of providers that Windows ships, all in its System32 folder, by their names as they are generally known; no list of
/// Microsoft's was found. TCP/IP and Unix sockets, Bluetooth, Hyper-V, infrared, multicast, QoS.
const OF_WINDOWS: [&str; 8] = [
    "mswsock.dll",
    "wshbth.dll",
    "wshhyperv.dll",
    "wshirda.dll",
    "wshrm.dll",
    "rsvpsp.dll",
    "wship6.dll",
    "wshtcpip.dll",
];

impl Check for Winsock {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "winsock-catalogue";
    const TITLE: &'static str = "Winsock catalogue";
    const ABOUT: &'static str =
        "Windows: providers and layers of the Winsock catalogue, and which of them Windows does not ship";
    const BUDGET: Duration = Duration::from_millis(500);
    const OS: Os = Os::Windows;

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        only_on_windows("a Winsock catalogue")?;
        let catalogue = providers::catalogue().map_err(|error| NotRun::CouldNot(error.to_string()))?;
        Ok(Data { entries: catalogue.into_iter().map(Entry::from).collect() })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut libraries: Vec<&str> =
            data.foreign().filter_map(|entry| entry.library.as_deref()).map(file_name).collect();
        libraries.sort_unstable();
        libraries.dedup();
        if libraries.is_empty() {
            return Vec::new();
        }
        let layered = data.foreign().any(|entry| entry.place != "base");
        let evidence = data.foreign().map(|entry| Evidence::seen(entry.line()));
        let finding = if layered { &system::WINSOCK_LAYERS } else { &system::WINSOCK_PROVIDERS };
        vec![finding.found(&[("libraries", &libraries.join(", "))]).with_all(evidence)]
    }

    fn describe(data: &Data) -> Vec<String> {
        let count = |place| data.entries.iter().filter(|entry| entry.place == place).count();
        let unknown = data.entries.iter().filter(|entry| entry.of_windows.is_none()).count();
        let unknown = if unknown == 0 { String::new() } else { format!("; libraries of {unknown} not told") };
        let layers = count("layer") + count("chain");
        vec![format!("{} providers, {layers} layers and chains of layers{unknown}", count("base"))]
    }
}

impl Data {
    /// What Windows does not ship.
    fn foreign(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.of_windows == Some(false))
    }
}

impl From<Provider> for Entry {
    fn from(provider: Provider) -> Self {
        let of_windows = provider.library.as_deref().map(is_of_windows);
        let place = match provider.place {
            Place::Base => "base",
            Place::Layer => "layer",
            Place::Chain(_) => "chain",
        };
        Self { name: provider.name, library: provider.library, place, of_windows }
    }
}

impl Entry {
    fn line(&self) -> String {
        format!("{} ({}): {}", self.name, self.place, self.library.as_deref().unwrap_or("library not told"))
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// Whether Windows ships the library: by its name, and its place in Windows' own folder.
fn is_of_windows(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace('/', r"\");
    let folder = path.strip_suffix(file_name(&path)).unwrap_or_default();
    let own = ["", r"%systemroot%\system32\", r"%windir%\system32\"];
    let own = own.contains(&folder) || folder.ends_with(r":\windows\system32\");
    own && OF_WINDOWS.contains(&file_name(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(name: &str, library: Option<&str>, place: Place) -> Entry {
        Provider { name: name.to_owned(), library: library.map(str::to_owned), place, id: 1001 }.into()
    }

    fn own() -> Entry {
        provider("MSAFD Tcpip [TCP/IP]", Some(r"%SystemRoot%\system32\mswsock.dll"), Place::Base)
    }

    fn found(entries: Vec<Entry>) -> Vec<(String, String)> {
        Winsock::judge(&Data { entries }).into_iter().map(|finding| (finding.id, finding.title)).collect()
    }

    #[test]
    fn a_catalogue_as_windows_ships_it_is_sound() {
        let hyper_v = provider("Hyper-V RAW", Some(r"C:\Windows\System32\wshhyperv.dll"), Place::Base);
        assert_eq!(found(vec![own(), hyper_v]), []);
    }

    #[test]
    fn layers_of_others_are_named_with_their_libraries() {
        let layer = provider("PROXIFIER", Some(r"C:\Windows\system32\PrxerDrv.dll"), Place::Layer);
        let chain =
            provider("PROXIFIER over TCP", Some(r"C:\Windows\system32\PrxerDrv.dll"), Place::Chain(2));
        let found = found(vec![chain, layer, own()]);
        assert_eq!(found[0].0, "winsock-layers");
        assert!(found[0].1.contains("PrxerDrv.dll"), "{}", found[0].1);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn another_base_provider_is_no_layer() {
        let vmware = provider("vSockets STREAM", Some(r"%SystemRoot%\system32\vsocklib.dll"), Place::Base);
        assert_eq!(found(vec![vmware, own()])[0].0, "winsock-providers");
    }

    #[test]
    fn a_library_by_windows_name_elsewhere_is_not_windows() {
        assert!(is_of_windows(r"D:\WINDOWS\system32\mswsock.dll"));
        assert!(!is_of_windows(r"C:\Program Files\x\mswsock.dll"));
        assert!(!is_of_windows(r"%SystemRoot%\system32\other.dll"));
    }

    #[test]
    fn what_is_not_told_is_not_called_foreign() {
        let unknown = provider("TCP/IP", None, Place::Base);
        assert_eq!(unknown.of_windows, None);
        let data = Data { entries: vec![unknown] };
        assert!(Winsock::judge(&data).is_empty());
        assert!(Winsock::describe(&data)[0].ends_with("libraries of 1 not told"));
    }
}
