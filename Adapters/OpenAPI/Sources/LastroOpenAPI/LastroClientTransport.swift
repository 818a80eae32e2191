// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import Lastro
public import OpenAPIRuntime

/// A transport for clients of swift-openapi-generator that sends their requests with a Lastro stack.
///
/// ```swift
/// let transport = LastroClientTransport { try await stack.exchange($0, streamed: $1) }
/// ```
///
/// Every status is a value, after the stack's interceptors, redirects and retries. Bodies of responses are streamed.
public struct LastroClientTransport: ClientTransport {
  /// A closure that sends a request and returns the response with any status: `exchange` of a stack.
  public typealias Exchange =
    @Sendable (_ request: ResourceRequest, _ streamed: Bool) async throws ->
    Fetched<
      ResponseBody, ResourceResponse
    >

  private let exchange: Exchange
  private let options: RequestOptions

  /// Creates a transport over any stack with an exchange.
  ///
  /// - Parameters:
  ///   - options: the options of every request. The operation is set from the API's description. Default: none.
  ///   - exchange: the closure that sends a request.
  public init(options: RequestOptions = RequestOptions(), exchange: @escaping Exchange) {
    self.exchange = exchange
    self.options = options
  }

  /// Creates a transport over a stack.
  ///
  /// - Parameters:
  ///   - stack: the stack that sends the requests.
  ///   - options: the options of every request. The operation is set from the API's description. Default: none.
  public init(_ stack: TransportNetworkStack, options: RequestOptions = RequestOptions()) {
    self.init(options: options) { try await stack.exchange($0, streamed: $1) }
  }

  /// Sends the request of an operation.
  ///
  /// - Throws: `HTTPFetchError<any Error>` if there is no response; `TransportError` with code `invalid_url` or
  ///   `invalid_header` for a request that cannot be sent, such as one whose server URL has a query.
  public func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?) {
    var options = options
    options.operation = operationID
    let resource = try ResourceRequest(
      method: request.method, url: try Self.url(baseURL, request.path), headers: RawHeaders(request.headerFields),
      body: body?.requestBody ?? .empty, options: options)
    let answer = try await exchange(resource, true)
    return (answer.response.head, HTTPBody(answer, to: request.method))
  }

  /// Returns the URL as text, because `URL` would percent-encode it a second time.
  private static func url(_ base: URL, _ path: String?) throws(TransportError) -> String {
    var text = base.absoluteString
    guard !text.contains("?"), !text.contains("#") else {
      throw .refused(
        .invalidURL, "the server URL has a query or a fragment", hint: "give it in the operation's own parameters")
    }
    while text.hasSuffix("/") { text.removeLast() }
    return text + (path ?? "")
  }
}
