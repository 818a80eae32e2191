// SPDX-License-Identifier: Apache-2.0

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
