// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("HTTP/2 receive windows")
struct HTTP2WindowTests {
  private func piece(_ count: Int, on stream: Int32, ends: Bool = false) -> [WireFrame] {
    stride(from: 0, to: count, by: 16_384).map { start in
      let size = min(16_384, count - start)
      return .data(
        [UInt8](repeating: UInt8(truncatingIfNeeded: stream), count: size), on: stream,
        ends: ends && start + size == count)
    }
  }

  @Test("Credit is returned to the connection at once, and to a stream when its reader consumed the bytes")
  func credit() throws {
    let lab = try SessionLab.ready()
    lab.reads = false
    let stream = try lab.open()
    lab.receive([.head(200, on: 1)] + piece(1 << 20, on: 1))
    #expect(lab.session.unreadBytes == 1 << 20)
    #expect(lab.frames(.windowUpdate).isEmpty)
    lab.session.consumed(600_000, on: stream)
    #expect(lab.send() == [.windowUpdate(600_000, on: 1)])
    #expect(lab.session.unreadBytes == (1 << 20) - 600_000)
    // The session never gives back more bytes than it received.
    lab.session.consumed(10 << 20, on: stream)
    lab.session.consumed(1, on: stream)
    #expect(lab.session.unreadBytes == 0)
    let others = try (0..<8).map { _ in try lab.open() }
    for other in others { lab.receive([.head(200, on: other.number)] + piece(1 << 20, on: other.number)) }
    // Nine MiB arrived, and no data of the eight streams was read. The session still gives half of the connection's
    // window back.
    #expect(lab.frames(.windowUpdate, on: 0).count == 1)
    #expect(lab.session.loss == nil)
  }

  @Test("A server may send no more than the stream's window")
  func overrun() throws {
    let lab = try SessionLab.ready()
    lab.reads = false
    let stream = try lab.open()
    lab.receive([.head(200, on: 1)] + piece((1 << 20) + 1, on: 1))
    // Later versions of nghttp2 close the connection in this case.
    let violation = HTTP2Violation(.flowControl, "the server sent more than the stream's window allows")
    if lab.session.loss == nil {
      #expect(lab.ending(stream) == .broken(violation))
      #expect(lab.frames(.resetStream).map(\.number) == [HTTP2ErrorCode.flowControlError.rawValue])
    } else {
      #expect(lab.violation?.message == "the server violated HTTP/2: FLOW_CONTROL_ERROR")
      #expect(lab.ending(stream) == lab.session.loss.map { .lost($0) })
    }
    #expect(lab.session.unreadBytes == 0)
  }

  @Test("Ten thousand streams make progress beside one that is never read")
  func tenThousand() throws {
    let lab = try SessionLab.ready()
    lab.reads = false
    let unread = try lab.open()
    lab.receive([.head(200, on: unread.number)] + piece(1 << 20, on: unread.number))
    lab.reads = true
    var whole = 0
    for _ in 0..<10_000 / 50 {
      lab.now += HTTP2Time.millisecond
      let streams = try (0..<50).map { _ in try lab.open() }
      let answers = streams.flatMap { [.head(200, on: $0.number)] + piece(20_000, on: $0.number, ends: true) }
      // A server that the connection's window blocks could not send. The bytes stay within the credit that was given
      // back.
      lab.receive(answers)
      whole += streams.count { lab.ending($0) == .whole }
      lab.forget()
    }
    #expect(whole == 10_000)
    #expect(lab.session.loss == nil && lab.session.streams.contains(unread))
    #expect(lab.session.unreadBytes == 1 << 20)
    lab.session.consumed(1 << 20, on: unread)
    #expect(lab.send().contains(.windowUpdate(1 << 20, on: unread.number)))
    lab.receive([.data([1], on: unread.number, ends: true)])
    #expect(lab.ending(unread) == .whole)
  }

  @Test("Ten thousand concurrent streams make progress, except one that is never read")
  func tenThousandAtATime() throws {
    var configuration = HTTP2Configuration()
    configuration.streams = 10_000
    let lab = try SessionLab.ready(configuration, settings: [(3, 10_000)])
    let streams = try (0..<10_000).map { _ in
      try #require(lab.session.open(try SessionLab.request(), now: lab.now))
    }
    lab.send()
    // The windows became smaller before the streams that they apply to were opened.
    let windows = lab.frames(.settings).map { WireFrame.settings([(4, 65_535)]) == $0 }
    #expect(windows.last == true)
    lab.receive([.settingsAck])
    let unread = streams[5_000]
    lab.reads = false
    lab.receive([.head(200, on: unread.number)] + piece(65_535, on: unread.number))
    lab.reads = true
    for stream in streams where stream != unread {
      lab.receive([.head(200, on: stream.number)] + piece(3_000, on: stream.number, ends: true))
    }
    #expect(lab.told.count { if case .closed(_, .whole) = $0 { true } else { false } } == 9_999)
    #expect(lab.session.streams.count == 1 && lab.session.loss == nil)
  }

  /// A configuration with an initial stream window of 1 MiB, and a total bound of a little more than 15 MiB.
  private static let bounded: HTTP2Configuration = {
    var configuration = HTTP2Configuration()
    configuration.connectionWindow = 1 << 20
    configuration.unreadBytes = 4 << 20
    return configuration
  }()

  private func acknowledge(_ lab: SessionLab) {
    lab.receive([WireFrame](repeating: .settingsAck, count: lab.frames(.settings).count))
  }

  @Test(
    "Unread bytes of all streams are bounded, even if the server ignores reduced windows", arguments: [false, true])
  func stubborn(isAcknowledged: Bool) throws {
    let lab = try SessionLab.ready(Self.bounded)
    lab.reads = false
    let streams = try (0..<99).map { _ in try lab.open() }
    #expect(lab.frames(.settings).last == .settings([(4, 65_535)]))
    #expect(Self.bounded.mostUnreadBytes == 9 << 20 + 100 * 65_535)
    if isAcknowledged { acknowledge(lab) }
    var largest = 0
    for stream in streams where lab.session.loss == nil {
      lab.receive([.head(200, on: stream.number)])
      for frame in piece(1 << 20, on: stream.number) where lab.session.streams.contains(stream) {
        lab.receive([frame])
        largest = max(largest, lab.session.unreadBytes)
      }
    }
    if isAcknowledged {
      // The stream windows in nghttp2 are small as well.
      #expect(largest <= 99 * 65_535)
    } else {
      #expect(largest <= Self.bounded.mostUnreadBytes && largest > Self.bounded.mostUnreadBytes - 16_384)
      #expect(lab.violation?.kind == .unreadBytes)
      let codes = lab.frames(.goAway).map { Array($0.payload[4..<8]) }
      #expect(codes == [WireFrame.bytes(HTTP2ErrorCode.flowControlError.rawValue)])
      #expect(lab.bodies.values.reduce(0) { $0 + $1.count } == largest)
    }
    #expect(lab.session.loss == nil || lab.session.unreadBytes == 0 && lab.session.streams.count == 0)
  }

  @Test("A server that respects reduced windows does not reach the bound, whatever was in flight")
  func obedient() throws {
    let lab = try SessionLab.ready(Self.bounded)
    lab.reads = false
    let first = try lab.open()
    lab.receive([.head(200, on: first.number)] + piece(1 << 20, on: first.number))
    let second = try lab.open()
    // The client opens the maximum number of streams while the second stream's whole window is in flight.
    let others = try (0..<98).map { _ in try lab.open() }
    lab.receive([.head(200, on: second.number)] + piece(1 << 20, on: second.number))
    acknowledge(lab)
    for other in others { lab.receive([.head(200, on: other.number)] + piece(65_535, on: other.number)) }
    #expect(lab.session.unreadBytes == 2 << 20 + 98 * 65_535)
    #expect(lab.session.loss == nil && lab.session.streams.count == 100)
  }

  @Test("Unread bytes are bounded however many streams a caller allows")
  func anyStreams() throws {
    var configuration = HTTP2Configuration()
    configuration.streams = .max
    #expect(configuration.mostUnreadBytes > configuration.unreadBytes)
    let lab = try SessionLab.ready(configuration)
    let stream = try lab.open()
    lab.receive([.head(200, on: stream.number, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  @Test("The window is shared by all streams: half as much each for twice as many")
  func plan() {
    func window(_ estimate: Int, _ streams: Int, unread: Int = 0) -> Int {
      WindowPlan.window(estimate: estimate, streams: streams, unread: unread, limit: 64 << 20)
    }
    #expect((1...64).allSatisfy { window(1 << 20, $0) == 1 << 20 })
    #expect((65...128).allSatisfy { window(1 << 20, $0) == 512 << 10 })
    #expect([1, 4, 5, 8, 9, 33].map { window(16 << 20, $0) >> 20 } == [16, 16, 8, 8, 4, 1])
    #expect(window(16 << 20, 100_000) == 65_535)
    #expect(window(16 << 20, 4, unread: 60 << 20) == 1 << 20)
    #expect(window(16 << 20, 1, unread: 70 << 20) == 65_535)
    // Whatever the number of unread bytes, all streams together keep little more than the limit.
    for unread in stride(from: 0, to: 64 << 20, by: 1 << 20) {
      for streams in 1...100 {
        let sum = unread + streams * window(16 << 20, streams, unread: unread > 16 << 20 ? unread : 0)
        #expect(sum <= (64 << 20) + max(16 << 20, streams * 65_535))
      }
    }
  }

  @Test("The window grows with bandwidth and delay, and the server is notified")
  func grows() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([.head(200, on: 1)])
    var windows: [UInt32] = []
    var window = 1 << 20
    // The link delivers a full window in each round trip of 50 ms.
    for _ in 0..<40 {
      lab.receive(piece(min(window, 4 << 20), on: 1))
      lab.now += 50 * HTTP2Time.millisecond
      if let ping = lab.sent.last(where: { $0.type == 6 }) { lab.receive([.ping(ping.payload, isAck: true)]) }
      if let settings = lab.sent.last(where: { $0.type == 4 && $0.flags == 0 }) {
        windows.append(settings.payload.suffix(4).reduce(0) { $0 << 8 | UInt32($1) })
        window = Int(windows.last ?? 0)
        lab.receive([.settingsAck])
      }
      lab.forget()
      lab.now += 100 * HTTP2Time.millisecond
    }
    #expect(windows.first == 2 << 20)
    #expect(windows == windows.sorted())
    #expect(windows.last.map { $0 <= 16 << 20 && $0 >= 4 << 20 } == true)
    #expect(lab.session.streams.contains(stream))
  }

  @Test("The window does not grow for a reader that reads nothing")
  func slowReader() throws {
    let lab = try SessionLab.ready()
    lab.reads = false
    _ = try lab.open()
    lab.receive([.head(200, on: 1)] + piece(1 << 20, on: 1))
    lab.now += 50 * HTTP2Time.millisecond
    let ping = try #require(lab.frames(.ping).first)
    lab.forget()
    lab.receive([.ping(ping.payload, isAck: true)])
    #expect(lab.frames(.settings).isEmpty)
    #expect(lab.session.bandwidth.window == 1 << 20)
  }
}
