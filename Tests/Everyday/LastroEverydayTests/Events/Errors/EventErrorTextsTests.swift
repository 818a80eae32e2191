// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroEveryday

/// What is said of streams that fail, as `EventErrorTexts.txt` beside this file has it.
@Suite("Error texts of event streams", .timeLimit(.minutes(5)))
struct EventErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "EventErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() async throws {
    let made = (Self.options() + Self.streams() + (try await Self.silences())).map { $0 + "\n" }.joined()
    try expectGolden(made, keptIn: Self.file)
  }

  private static func text(_ check: () throws(TransportError) -> Void) -> String {
    do throws(TransportError) { try check() } catch { return "TransportError | \(error)" }
    return "no error"
  }

  private static func options() -> [String] {
    let edits: [(inout EventStreamOptions) -> Void] = [
      { $0.maximumEventBytes = 0 }, { $0.firstEvent = .zero }, { $0.reconnection = .always(failures: -1) },
      { $0.lastEventID = "a\nb" }, { $0.lastEventID = String(repeating: "x", count: 4097) },
    ]
    let jsonEdits: [(inout JSONStreamOptions) -> Void] = [{ $0.maximumTextBytes = 0 }, { $0.firstText = .seconds(-1) }]
    return edits.map { edit in
      var options = EventStreamOptions()
      edit(&options)
      return text { () throws(TransportError) in try options.check() }
    }
      + jsonEdits.map { edit in
        var options = JSONStreamOptions()
        edit(&options)
        return text { () throws(TransportError) in try options.check() }
      }
  }

  private static func streams() -> [String] {
    func answer(_ status: Int, _ fields: HTTPFields) -> String {
      let head = HTTPResponse(status: .init(code: status), headerFields: fields)
      return text { () throws(TransportError) in
        try ResourceResponse(head: head, url: "https://example.com/").checkHasEvents()
      }
    }
    let errors: [TransportError] = [
      .tooLarge(.line(100)), .tooLarge(.event(100)), .tooLarge(.id(100)), .endedTooOften(20),
      .cutBeforeEnd(EndMark.data("[DONE]").text ?? ""), .cutBeforeEnd(EndMark.event("message_stop").text ?? ""),
      .cutBeforeEnd("the last model"), .unreadable(.tooLong(100)), .unreadable(.truncated), .unreadable(.outsideOfText),
      .lineTooLong(100), .failureEvent,
      .deadlinePassed(.totalTimeout, of: .seconds(10), "before the next connection", requestSent: true),
      .connectionTooLate(after: .seconds(3), total: .seconds(10)),
    ]
    return [answer(206, [:]), answer(200, [:]), answer(200, [.contentType: "text/html; charset=utf-8"])]
      + errors.map { "TransportError | \($0)" }
  }

  private static func silences() async throws -> [String] {
    var texts: [String] = []
    for pieces in [[], [": hello\n"]] {
      let clock = ManualClock()
      let source = FedSource()
      for piece in pieces { source.feed(piece) }
      let reader = BodyReader(
        ResponseBody(source: source), idle: .seconds(60), firstByte: .seconds(300), time: clock.timeSource)
      texts.append(
        await clock.moving(by: .seconds(60)) {
          var reader = reader
          do throws(TransportError) {
            while try await reader.next() != nil {}
          } catch {
            return "TransportError | \(error)"
          }
          return "no error"
        })
    }
    return texts
  }
}
