// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request with its body and options, as interceptors see it.
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

  // Requests are copied often and rarely changed.
  private var parts: CopyOnWrite<Parts>

  /// The method, scheme, authority, path with query, and header fields.
  public var head: HTTPRequest {
    get { parts.value.head }
    _modify { yield &parts.value.head }
  }
  /// The body; empty by default.
  public var body: RequestBody {
    get { parts.value.body }
    _modify { yield &parts.value.body }
  }
  /// The options of the request.
  public var options: RequestOptions {
    get { parts.value.options }
    _modify { yield &parts.value.options }
  }

  /// Whether the request has passed ``RequestCheck``. The same value need not be checked again.
  var isChecked: Bool { parts.isMarked }

  func noteChecked() { parts.mark() }

  /// Makes a request.
  public init(head: HTTPRequest, body: RequestBody = .empty, options: RequestOptions = RequestOptions()) {
    parts = CopyOnWrite(Parts(head: head, body: body, options: options))
  }
}
