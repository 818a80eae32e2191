// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro events", .peers(.python), .timeLimit(.minutes(15)))
struct EventsCommandTests {
  private func url(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.python.port)\(path)" }

  @Test("Events are printed as JSON objects until the server says that there are no more")
  func lines() async throws {
    let result = try await Lastro.run(["events", url("/cut/4")])
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      result.lines == (1...4).map { #"{"data":"{\"number\": \#($0)}","event":"order","id":"\#($0)"}"# })
    #expect(result.errors.isEmpty)
  }

  @Test("The stream can start at an ID and end with the connection or after a number of events")
  func options() async throws {
    let ids = { (result: Lastro.Result) in try result.jsonLines().map { $0["id"] as? String } }
    let once = try await Lastro.run(["events", url("/orders/9"), "--last-event-id", "3", "--no-reconnect"])
    #expect(try ids(once) == ["4", "5", "6"])
    #expect(once.status == 0)
    let counted = try await Lastro.run(["events", url("/orders/9"), "--count", "2"])
    #expect(try ids(counted) == ["1", "2"])
    #expect(counted.status == 0)
  }

  @Test("A lost connection that is not reopened is a failure, and so is another response")
  func failures() async throws {
    let cut = try await Lastro.run(["events", url("/cut/4"), "--no-reconnect"])
    #expect(cut.lines.count == 2)
    #expect(cut.status == 56)
    #expect(cut.errors.contains("response/truncated_body"))
    let missing = try await Lastro.run(["events", url("/missing/4")])
    #expect(missing.status == 22)
    let other = try await Lastro.run(["events", url("/asked/x")])
    #expect(other.status == 56)
    #expect(other.errors.contains("response/unexpected_content_type"))
  }

  @Test("A POST is sent once, with its fields and body, and again only if configured")
  func post() async throws {
    let sent = EventRecorder<Int>()
    let server = try LoopbackServer.http { _ in
      sent.record(1)
      return sent.events.count == 3
        ? LoopbackResponse(status: 204)
        : LoopbackResponse(headers: ["Content-Type": "text/event-stream"], body: Array("retry: 1\ndata: a\n\n".utf8))
    }
    let once = try await Lastro.run(["events", server.baseURL, "-d", "{}", "-H", "X-Own: 1"])
    #expect(once.lines.count == 1)
    #expect(once.status == 0)
    #expect(server.requests.map(\.method) == ["POST"])
    #expect(server.requests.first?.head["X-Own"] == "1")
    #expect(server.requests.first?.head["Accept"] == "text/event-stream")
    let again = try await Lastro.run(["events", server.baseURL, "-d", "{}", "--reconnect"])
    #expect(again.lines.count == 1)
    #expect(server.requests.map(\.text) == ["{}", "{}", "{}"])
  }
}
