// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The response that a ``Transport`` returns.
public struct TransferResponse: Sendable {
  /// The status and header fields of the final response.
  public var head: HTTPResponse { didSet { knownStatus = nil } }
  private var knownStatus: Int?
  /// The body: bytes, or a stream still to be read.
  public var body: ResponseBody
  /// The facts so far; for a streamed body, ``ResponseBody/finalFacts`` has the rest.
  public var facts: TransferFacts

  /// Makes a response.
  public init(head: HTTPResponse, body: ResponseBody, facts: TransferFacts = TransferFacts()) {
    self.head = head
    self.body = body
    self.facts = facts
  }

  /// Makes a response whose status code is known, because parsing it from the head is costly.
  package init(head: HTTPResponse, status: Int, body: ResponseBody, facts: TransferFacts) {
    self.init(head: head, body: body, facts: facts)
    knownStatus = status
  }

  /// The status code of the head.
  package var statusCode: Int { knownStatus ?? head.statusCode }
}
