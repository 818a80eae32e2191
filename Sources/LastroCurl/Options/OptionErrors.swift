// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What libcurl and OpenSSL do not take over.
extension TransportError {
  static let unparsedURL = refused(.invalidURL, "libcurl cannot parse the URL", hint: "write https://HOST/PATH")
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

  static let unaskedResolver = refused(
    .unsupported, "libcurl's own transfers ask no resolver, and inspections go by them",
    hint: "leave CurlConfiguration.carrier as it is, or ConnectionOptions.resolver nil")

  static let noMemoryForFields = TransportError(
    stage: .request, code: .engineFailure, message: "out of memory for header fields", hint: memoryHint)

  static let noMultiHandle = TransportError(
    stage: .request, code: .engineFailure, message: "libcurl cannot make a multi handle: out of memory",
    hint: memoryHint)
}
