// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro

/// What a step of a ``ScriptedTransport`` wants its request to be.
public struct RequestExpectation: Sendable, CustomStringConvertible {
  /// What is wanted, such as `POST /payments`.
  public let description: String
  private let check: @Sendable (TransferRequest) -> Bool

  /// Makes an expectation.
  ///
  /// - Parameters:
  ///   - description: what is wanted, for the message of a request that does not meet it.
  ///   - check: whether a request meets it. Called on the task that makes the request.
  public init(_ description: String, check: @escaping @Sendable (TransferRequest) -> Bool) {
    self.description = description
    self.check = check
  }

  /// Expects a method and a path.
  ///
  /// - Parameters:
  ///   - method: `nil`: any.
  ///   - path: as sent, percent-encoded. Without a `?` in it the request's query does not matter. `nil`: any.
  public init(method: HTTPRequest.Method? = nil, path: String? = nil) {
    self.init("\(method?.rawValue ?? "any method") \(path ?? "any path")") { request in
      if let method, request.head.method != method { return false }
      guard let path else { return true }
      let actual = request.head.path ?? ""
      return (path.contains("?") ? actual : String(actual.prefix { $0 != "?" })) == path
    }
  }

  /// Whether a request meets it.
  public func isMet(by request: TransferRequest) -> Bool { check(request) }
}
