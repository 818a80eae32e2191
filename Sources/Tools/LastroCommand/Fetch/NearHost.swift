// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// Recognizes this machine and hosts in private networks by what is written: `localhost`, or an address.
///
/// Other names are not resolved: a resolver could answer any of them with a private address.
enum NearHost {
  /// Whether the host is `localhost`, a name below it, or a loopback, private or link-local address.
  ///
  /// - Parameter host: a name or an address; IPv6 with or without brackets.
  static func contains(_ host: String) -> Bool {
    let host = host.lowercased().filter { $0 != "[" && $0 != "]" }
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    guard let address = IPAddress(parsing: host) else { return false }
    return [.loopback, .privateUse, .linkLocal, .uniqueLocal].contains(AddressClass(address))
  }

  /// Returns the host of a URL, as it is written.
  static func host(of url: String) -> String {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
    return String(host.prefix { $0 != ":" })
  }
}
