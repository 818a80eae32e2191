// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroSupport
import Testing

@testable import LastroTransports

@Suite("The queue of content that a connection sends")
struct ConnectionOutboxTests {
  private let told = Lock<[String]>([])

  private func content(_ name: String, _ context: ConnectionContentContext = .defaultMessage) -> OutgoingContent {
    OutgoingContent(
      data: Data(name.utf8), context: context, isComplete: true,
      completion: .contentProcessed { [told] error in
        told.withLock { $0.append(error == nil ? name : "\(name) failed") }
      })
  }

  private func queue(_ content: OutgoingContent, in outbox: inout ConnectionOutbox) {
    outbox.append(content.data ?? Data())
    outbox.append(endOf: content, mayFinish: true)
  }

  /// Performs the next task, and returns its description; `nil` if there is none.
  private func perform(_ outbox: inout ConnectionOutbox) -> String? {
    switch outbox.next() {
    case .write(let data): return "write \(String(decoding: data, as: UTF8.self))"
    case .finish: return "finish"
    case .complete(.contentProcessed(let handler), let error):
      handler(error)
      return told.withLock { $0.last }
    case .complete(.idempotent, _): return "idempotent"
    case nil: return nil
    }
  }

  @Test("One write runs at a time, and the completion follows its bytes") func order() {
    var outbox = ConnectionOutbox(limit: 1000)
    queue(content("a"), in: &outbox)
    queue(content("b", .finalMessage), in: &outbox)
    #expect(perform(&outbox) == "write a")
    #expect(perform(&outbox) == nil)
    outbox.wrote(1)
    #expect(perform(&outbox) == "a")
    #expect(perform(&outbox) == "write b")
    outbox.wrote(1)
    #expect(perform(&outbox) == "finish")
    #expect(perform(&outbox) == nil && !outbox.isDrained)
    outbox.wrote(0)
    #expect(perform(&outbox) == "b")
    #expect(perform(&outbox) == nil && outbox.isDrained)
  }

  @Test("Content is refused at the limit, and again accepted once it was written") func limit() {
    var outbox = ConnectionOutbox(limit: 200)
    #expect(outbox.admit(content("a")) == nil)
    queue(content(String(repeating: "a", count: 100)), in: &outbox)
    #expect(outbox.isOverfull)
    #expect(outbox.admit(content("b")) == .posix(.ENOBUFS))
    _ = perform(&outbox)
    outbox.wrote(100)
    #expect(!outbox.isOverfull)
    #expect(outbox.admit(content("b")) == nil)
  }

  @Test("Empty sends count towards the limit, held or queued", arguments: [true, false]) func empty(isHeld: Bool) {
    var outbox = ConnectionOutbox(limit: 1000)
    var accepted = 0
    while accepted < 1000, outbox.admit(content("")) == nil {
      accepted += 1
      if isHeld { outbox.hold(content("")) } else { queue(content(""), in: &outbox) }
    }
    #expect(accepted == 8)
  }

  @Test("Nothing is accepted after a final message, and it is finished once") func final() {
    var outbox = ConnectionOutbox(limit: 1000)
    let last = content("last", .finalMessage)
    #expect(outbox.admit(last) == nil)
    #expect(outbox.admit(content("more")) == .posix(.EPIPE))
    queue(last, in: &outbox)
    outbox.queueEnd()
    #expect(perform(&outbox) == "write last")
    outbox.wrote(4)
    #expect(perform(&outbox) == "finish")
    outbox.wrote(0)
    #expect(perform(&outbox) == "last")
    #expect(perform(&outbox) == nil)
  }

  @Test("Held content is encoded in order, one after the other") func held() {
    var outbox = ConnectionOutbox(limit: 300)
    outbox.hold(content("a"))
    outbox.hold(content("b"))
    outbox.hold(content("c"))
    #expect(outbox.isDrained && outbox.isOverfull)
    #expect(outbox.takeHeld()?.data == Data("a".utf8))
    #expect(outbox.takeHeld() == nil, "the first one is being encoded")
    outbox.didEncodeHeld()
    #expect(outbox.takeHeld()?.data == Data("b".utf8))
    outbox.didEncodeHeld()
    #expect(outbox.takeHeld()?.data == Data("c".utf8))
    outbox.didEncodeHeld()
    #expect(outbox.takeHeld() == nil && !outbox.isOverfull)
  }

  @Test("The error of a datagram is reported to its own sender alone") func datagram() {
    var outbox = ConnectionOutbox(limit: 1000)
    queue(content("a"), in: &outbox)
    queue(content("b"), in: &outbox)
    #expect(perform(&outbox) == "write a")
    outbox.wrote(1)
    outbox.datagramFailed(.posix(.EMSGSIZE))
    #expect(perform(&outbox) == "a failed")
    #expect(perform(&outbox) == "write b")
    outbox.wrote(1)
    #expect(perform(&outbox) == "b")
  }

  @Test("Clearing returns the completions of queued content before those of held content") func clear() {
    var outbox = ConnectionOutbox(limit: 100)
    outbox.hold(content("held"))
    queue(content("queued"), in: &outbox)
    #expect(perform(&outbox) == "write queued")
    for case .contentProcessed(let handler) in outbox.clear() { handler(.posix(.ECANCELED)) }
    #expect(told.withLock { $0 } == ["queued failed", "held failed"])
    #expect(!outbox.isOverfull && !outbox.isDrained, "the write has not ended")
    outbox.wrote(6)
    #expect(outbox.isDrained && perform(&outbox) == nil)
  }
}
