// SPDX-License-Identifier: Apache-2.0

import Glibc
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
    guard let address = address(host) else { return false }
    return [.loopback, .privateUse, .linkLocal, .uniqueLocal].contains(AddressClass(address))
  }

  private static func address(_ text: String) -> IPAddress? {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { IPAddress(Array($0)) } }
    var six = in6_addr()
    return inet_pton(AF_INET6, text, &six) == 1 ? withUnsafeBytes(of: six) { IPAddress(Array($0)) } : nil
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

/// A URL without a scheme, as people type it.
enum SchemelessURL {
  /// Returns the URL with a scheme: `http` for this machine and for addresses of private networks, else `https`. A
  /// port alone is one of this machine.
  ///
  /// - Returns: `nil` for a URL that has a scheme.
  static func completed(_ url: String) -> String? {
    guard !url.contains("://") else { return nil }
    let isPort = url.first == ":" && url.dropFirst().first.map { $0.isASCII && $0.isNumber } == true
    let whole = isPort ? "localhost" + url : url
    return (NearHost.contains(NearHost.host(of: whole)) ? "http://" : "https://") + whole
  }
}
