// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro

/// The request that a step of a ``ScriptedTransport`` expects.
public struct RequestExpectation: Sendable, CustomStringConvertible {
  /// The description of the expected request, such as `POST /payments`.
  public let description: String
  private let check: @Sendable (TransferRequest) -> Bool

  /// Creates an expectation.
  ///
  /// - Parameters:
  ///   - description: a description for the message about a request that does not match.
  ///   - check: returns whether a request matches. It is called on the task that makes the request.
  public init(_ description: String, check: @escaping @Sendable (TransferRequest) -> Bool) {
    self.description = description
    self.check = check
  }

  /// Creates an expectation of a method and a path.
  ///
  /// - Parameters:
  ///   - method: the method; `nil`: any.
  ///   - path: the path as sent, percent-encoded. If it contains no `?`, the request's query is ignored. `nil`: any.
  public init(method: HTTPRequest.Method? = nil, path: String? = nil) {
    self.init("\(method?.rawValue ?? "any method") \(path ?? "any path")") { request in
      if let method, request.head.method != method { return false }
      guard let path else { return true }
      let actual = request.head.path ?? ""
      return (path.contains("?") ? actual : String(actual.prefix { $0 != "?" })) == path
    }
  }

  /// Returns whether a request matches.
  package func isMet(by request: TransferRequest) -> Bool { check(request) }
}
