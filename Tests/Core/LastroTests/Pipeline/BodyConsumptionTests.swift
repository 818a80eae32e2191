// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("One-shot bodies and signers", .timeLimit(.minutes(15)))
struct BodyConsumptionTests {
  private static func body(_ opened: EventRecorder<Int>) -> RequestBody {
    RequestBody(
      source: .stream(length: nil, isReplayable: false) {
        opened.record(1)
        return { nil }
      })
  }

  @Test("A body that was cancelled is not opened by the earlier attempt")
  func sealed() async throws {
    let opened = EventRecorder<Int>()
    let consumption = BodyConsumption()
    guard case .stream(_, _, let open) = consumption.watching(Self.body(opened)).source else { throw TestError() }
    #expect(consumption.seal())
    let next = open()
    await #expect(throws: CancellationError.self) { _ = try await next() }
    #expect(opened.events.isEmpty && consumption.seal())
  }

  @Test("A body that was opened cannot be cancelled")
  func opened() async throws {
    let opened = EventRecorder<Int>()
    let consumption = BodyConsumption()
    guard case .stream(_, _, let open) = consumption.watching(Self.body(opened)).source else { throw TestError() }
    #expect(try await open()() == nil)
    #expect(!consumption.seal() && opened.events.count == 1)
  }

  struct TaggingSigner: RequestSigner {
    var origins: [Origin] { [try? Origin("https://example.com")].compactMap(\.self) }

    func sign(
      _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
    ) async throws -> ResourceRequest {
      var request = request
      try request.appendQueryItem("tag", Secret("hush-hush-hush"))
      return request
    }
  }

  @Test("Values that a signer marks as secret are masked in the call's results")
  func signers() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(403, body: "no hush-hush-hush here"))) {
      $0.signers = [TaggingSigner()]
    }
    let error = try await stack.failure(of: .test())
    #expect(error.body != nil)
    for text in [error.description, error.debugDescription, error.ledger.json(), "\(error.response as Any)"] {
      #expect(!text.contains("hush-hush-hush"), "\(text)")
    }
  }
}
