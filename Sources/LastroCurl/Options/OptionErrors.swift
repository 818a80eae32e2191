// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Failures of options that libcurl and OpenSSL do not accept.
extension TransportError {
  /// - Parameter name: host and port, as the URL has them.
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
