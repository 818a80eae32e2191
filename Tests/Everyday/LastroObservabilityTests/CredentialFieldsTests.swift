// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroObservability
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Credentials in output", .timeLimit(.minutes(15)))
struct CredentialFieldsTests {
  @Test("Logs, curl commands, archives and descriptions mask every credential field", arguments: CredentialCase.all)
  func masked(given: CredentialCase) async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let recorder = HARRecorder()
    var configuration = StackConfiguration()
    configuration.observers = [recorder, .logging(to: logger)]
    configuration.interceptors = [
      LoggingInterceptor(logger: logger, verbosity: .bodies(limit: 1_000), rendersCurlCommands: true)
    ]
    let transport = ScriptedTransport([.answer(200, body: "fine")])
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let fetched = try await stack.fetch(RawHTTPResource.test(fields: given.fields(of: "ann")))
    let request = try #require(transport.requests.first)
    var texts = entries.withLock { $0 }.map(\.text)
    texts.append(String(decoding: try recorder.har(), as: UTF8.self))
    texts.append(CurlCommand.render(try .test(fields: given.fields(of: "ann"))))
    texts += ["\(fetched.response.ledger)", "\(request)"]
    #expect(texts.contains { $0.contains(given.name) })
    for word in ["swordfish", "5word"] where given.secret(of: "ann").contains(word) {
      #expect(!texts.contains { $0.contains(word) })
    }
  }
}
