// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Limits", .timeLimit(.minutes(15)))
struct LimitTests {
  @Test("Invalid limits are refused before anything is sent")
  func negative() async throws {
    let faults: [@Sendable (inout StackConfiguration, inout RequestOptions) -> Void] = [
      { $1.maximumBodyBytes = -1 }, { configuration, _ in configuration.maximumBodyBytes = -1 },
      { configuration, _ in configuration.maximumErrorBodyBytes = .min },
      { configuration, _ in configuration.maximumAttempts = 0 },
    ]
    for fault in faults {
      var options = RequestOptions()
      let transport = ScriptedTransport(repeatingLast: .answer(200))
      let stack = TransportNetworkStack(transport) { fault(&$0, &options) }
      let error = try await stack.failure(of: .test(options: options))
      #expect(error.stage == .request && error.code == .invalidOption)
      #expect(error.message.contains("is -") || error.message.contains("is 0"))
      let stream = await #expect(throws: HTTPFetchError<any Error>.self) {
        try await stack.stream(.test(options: options))
      }
      #expect(stream?.code == .invalidOption)
      #expect(transport.requests.isEmpty)
    }
  }

  @Test("Limits are enforced even if the transport ignores them")
  func bodyInMemory() async throws {
    var options = RequestOptions()
    options.maximumBodyBytes = 3
    let stack = TransportNetworkStack(ScriptedTransport { _ throws(TransportError) in .answer(200, body: "abcd") })
    let error = try await stack.failure(of: .test(options: options))
    #expect(error.stage == .limit && error.code == .bodyTooLarge && error.statusCode == .ok)
    options.maximumBodyBytes = 4
    #expect(try await stack.fetch(.test(options: options)).value == Data("abcd".utf8))
  }

  @Test("An error keeps no more of a body than the stack allows, and the API's error is decoded from all of it")
  func errorBody() async throws {
    let body = #"{"message":"m"}"#
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500, body: body))) {
      $0.maximumErrorBodyBytes = 4
    }
    let error = try await stack.failure(of: PipelineTests.typed())
    #expect(error.body == Data(body.utf8.prefix(4)))
    #expect(error.apiError == APIFailure(message: "m"))
    #expect(error.bodyCut?.code == .bodyTooLarge && error.response?.facts.bodyCut == error.bodyCut)
  }

  @Test("Of a broken streamed error body the received part is kept, with the reason for its end")
  func streamedErrorBody() async throws {
    for (chunks, end, limit, body, code) in [
      (["ab", "cd"], nil, 10, "abcd", nil), (["ab", "cd"], nil, 4, "abcd", nil),
      (["ab", "cd"], nil, 3, "abc", FailureCode.bodyTooLarge),
      (["ab"], FailureCode.truncatedBody, 10, "ab", .truncatedBody),
      ([], .idleTimeout, 10, "", .idleTimeout),
    ] as [([String], FailureCode?, Int, String, FailureCode?)] {
      let source = PiecesThenEnd(chunks, end: end)
      let answer = TransferResponse(
        head: HTTPResponse(status: .internalServerError), body: ResponseBody(source: source))
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .reply(answer))) {
        $0.maximumErrorBodyBytes = limit
      }
      let error = try await stack.failure(of: .test())
      #expect(error.stage == .http && error.body == Data(body.utf8) && error.bodyCut?.code == code)
    }
  }

  @Test("A transport receives the limit for error bodies, and whether bodies of redirects are wanted")
  func seam() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport) { $0.maximumErrorBodyBytes = 7 }
    _ = try await stack.fetch(.test())
    var options = RequestOptions()
    options.redirects = RedirectPolicy.none
    _ = try await stack.fetch(.test(options: options))
    #expect(transport.requests.map(\.maximumErrorBytes) == [7, 7])
    #expect(transport.requests.map(\.dropsRedirectBodies) == [true, false])
  }
}

/// A body source that yields pieces and then ends, with or without an error.
private final class PiecesThenEnd: ResponseBodySource {
  private let pieces: Lock<[String]>
  private let end: FailureCode?

  init(_ pieces: [String], end: FailureCode?) {
    self.pieces = Lock(pieces)
    self.end = end
  }

  var finalFacts: TransferFacts? { nil }

  func next() async throws(TransportError) -> Data? {
    if let piece = pieces.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return Data(piece.utf8) }
    if let end { throw TransportError(stage: .response, code: end, message: "cut") }
    return nil
  }

  func cancel() {}
}
