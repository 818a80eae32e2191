// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Failures of options that libcurl and OpenSSL do not accept.
extension TransportError {
  /// Returns the error for a proxy URL that libcurl rejects.
  ///
  /// - Parameter name: the host and port in the URL.
  static func refusedProxy(_ name: String) -> TransportError {
    refused(
      .invalidOption, "libcurl does not accept the URL of the proxy \(name.onOneLine.cut(to: 80))",
      hint: "write it as http://proxy.example:3128")
  }

  static func refusedSocketPath(_ path: String) -> TransportError {
    refused(
      .invalidOption, "libcurl does not accept the Unix socket's path \(path.onOneLine.cut(to: 120))",
      hint: "give a path of at most 107 bytes, without NUL")
  }

  static func refusedInterface(_ name: String) -> TransportError {
    refused(
      .invalidOption, "libcurl does not accept \(name.onOneLine.cut(to: 80)) as local interface",
      hint: "give the name of an interface, or a local address")
  }
}
