// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The errors of the engine itself.
extension TransportError {
  package static let spokenFirst = TransportError(
    stage: .response, code: .malformedResponse,
    message: "the server sent bytes before it got a request",
    hint: "check the port: the server may speak another protocol there")

  package static let unreadableHost = refused(
    .invalidURL, "the URL's host is neither a name nor an address", hint: "write https://HOST/PATH")
  package static let unreadableProxyHost = refused(
    .invalidOption, "the proxy's URL has no host that can be read", hint: "write it as http://proxy.example:3128")

  package static let proxyWantsCredentials = TransportError(
    stage: .proxy, code: .proxyRefused, message: "the proxy answered the request with 407",
    hint: "give user and password in the proxy's URL", requestSent: true)

  /// Returns the error of a warm-up with a number of connections that the engine would not keep.
  static func cannotKeepOpen(_ count: Int, most: Int) -> TransportError {
    refused(
      .invalidOption, "\(count) connections cannot be opened in advance: the engine keeps at most \(most) to a server",
      hint: count < 1
        ? "give 1 or more" : "give fewer, or raise the limits of connections to a host and of idle connections")
  }

  package static let answerTaken = TransportError(
    stage: .request, code: .engineFailure,
    message: "the transfer's response was read twice, which is a fault in Lastro",
    hint: "report it")
}
