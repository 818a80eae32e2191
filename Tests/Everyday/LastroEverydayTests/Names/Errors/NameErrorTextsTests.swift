// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroEveryday

/// What is said of names that are not found, as `NameErrorTexts.txt` beside this file has it.
@Suite("Error texts of names")
struct NameErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "NameErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() throws {
    let errors: [TransportError] = [
      .notAnAddress("far.example\n"),
      .lookUpFailed(try HostName("far.test"), "Temporary failure in name resolution", -3),
      .tooManyLookUps(4_096), .noThreadForNames,
      .ownServer(try HostName("dns.example")), .tooManyNames(4_096),
    ]
    let stack = TransportNetworkStack(transport: ScriptedTransport())
    let settings: [([String], Duration)] = [
      ([], .seconds(1)), (["http://dns.example/"], .seconds(1)), (["https://dns.example/"], .zero),
    ]
    let refusals = settings.map { servers, timeout in
      do throws(ConfigurationError) {
        _ = try DoHResolver(servers, over: stack, timeout: timeout)
        return "nothing"
      } catch {
        return "\(error)"
      }
    }
    let answers = try answers()
    let lines =
      (errors + answers).map { "TransportError | \($0)\n" } + refusals.map { "ConfigurationError | \($0)\n" }
    try expectGolden(lines.joined(), keptIn: Self.file)
  }

  /// What is said of answers that are none.
  private func answers() throws -> [TransportError] {
    let name = try HostName("far.test")
    let server = try DoHServer("https://dns.example/account", timeout: .seconds(1))
    let question = try #require(DNSQuestion("far.test", .a))
    let sent: [(type: String, flags: UInt16)] = [
      ("text/html\n", 0), ("application/dns-message", 0x8182), ("application/dns-message", 0x8380),
    ]
    let errors = sent.map { type, flags in
      var answer = DNSAnswer(to: question.query(id: 0))
      answer.flags = flags
      do throws(TransportError) {
        _ = try server.read(answer.bytes, [.contentType: type], question, name)
        return TransportError.noThreadForNames
      } catch {
        return error
      }
    }
    let status = DoHServer.reason(HTTPFetchError(.http(.badGateway, nil)))
    return errors + [.noAnswer(to: name, by: server.origin, status)]
      + DNSViolation.allCases.map { .wrongResponse(to: name, by: server.origin, $0) }
  }
}
