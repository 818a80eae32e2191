// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request as interceptors see it: head, body, options.
///
/// ```swift
/// var request = try ResourceRequest(url: "https://api.example.com/notes")
/// try request.setHeader("X-Api-Key", key)  // a Secret: it does not cross origins, and is masked
/// ```
public struct ResourceRequest: Sendable {
  private struct Parts: Sendable {
    var head: HTTPRequest
    var body: RequestBody
    var options: RequestOptions
  }

  // Requests pass through many hands, and are rarely changed by them.
  private var parts: CopyOnWrite<Parts>

  /// Method, scheme, authority, path with query, header fields.
  public var head: HTTPRequest {
    get { parts.value.head }
    _modify { yield &parts.value.head }
  }
  /// The body; empty by default.
  public var body: RequestBody {
    get { parts.value.body }
    _modify { yield &parts.value.body }
  }
  /// What the request asks of the stack.
  public var options: RequestOptions {
    get { parts.value.options }
    _modify { yield &parts.value.options }
  }

  /// Whether it has been found fit to be sent (``RequestCheck``). The same value need not be looked at again.
  var isChecked: Bool { parts.isMarked }

  func noteChecked() { parts.mark() }

  /// Makes a request.
  public init(head: HTTPRequest, body: RequestBody = .empty, options: RequestOptions = RequestOptions()) {
    parts = CopyOnWrite(Parts(head: head, body: body, options: options))
  }
}
