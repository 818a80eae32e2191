// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request as interceptors see it: head, body, options.
public struct ResourceRequest: Sendable {
  /// Method, scheme, authority, path with query, header fields.
  public var head: HTTPRequest
  /// The body; empty by default.
  public var body: RequestBody
  /// What the request asks of the stack.
  public var options: RequestOptions

  /// Makes a request.
  public init(head: HTTPRequest, body: RequestBody = .empty, options: RequestOptions = RequestOptions()) {
    self.head = head
    self.body = body
    self.options = options
  }
}
