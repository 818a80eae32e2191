// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("obfs4 as a tunnel", .timeLimit(.minutes(15)))
struct WispDialerTests {
  private static let request = DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600))
  private static let cases: [LoopbackObfs4Behavior.HandshakeFault] = [
    .wrongMark, .wrongMAC, .wrongAuthentication, .wrongHour, .garbage, .end, .reset,
  ]

  @Test(
    "Bytes pass in both directions at once, in pieces of any size",
    arguments: [
      (1, 1), (1, 3000), (7, 1428), (1448, 1427), (1448, 65_536), (.max, 1), (.max, 1427), (.max, 1428),
      (.max, 1 << 19),
    ])
  func echo(piece: Int, count: Int) async throws {
    let bridge = try WispBridge()
    let stream = try await bridge.dialer(shape: .init(longestRead: piece)).dial(Self.request)
    try await stream.expectEcho(count)
    try await stream.expectEcho(count)
    stream.close()
  }

  @Test(
    "A response that is not the server's ends the dial with its own code", arguments: Self.cases)
  func handshakeFaults(fault: LoopbackObfs4Behavior.HandshakeFault) async throws {
    for piece in [1, 1000, Int.max] {
      let bridge = try WispBridge {
        $0.handshakeFault = fault
        $0.pieceBytes = piece
        if fault == .wrongMark { $0.responsePadding = 8096 }
      }
      let error = try await transportError { try await bridge.dialer().dial(Self.request) }
      let (code, engineCode): (FailureCode, Int32?) =
        switch fault {
        case .wrongMark, .garbage: (.handshakeFailed, 1)
        case .wrongMAC, .wrongHour: (.handshakeFailed, 2)
        case .wrongAuthentication: (.handshakeFailed, 3)
        default: (.proxyRefused, nil)
        }
      #expect(error.stage == .proxy)
      #expect(error.code == code)
      #expect(error.engineCode == engineCode)
      #expect(error.hint != nil)
      #expect(!error.requestSent)
      #expect(!"\(error)".contains(WispBridge.host))
    }
  }

  @Test("A response may have up to 8,192 bytes", arguments: [0, 8051, 8096, 8097], [1, Int.max])
  func padding(length: Int, piece: Int) async throws {
    let bridge = try WispBridge {
      $0.responsePadding = length
      $0.pieceBytes = piece
    }
    guard length <= 8096 else {
      let error = try await transportError { try await bridge.dialer().dial(Self.request) }
      #expect(error.engineCode == 1)
      return
    }
    try await bridge.dialer().dial(Self.request).expectEcho()
  }

  @Test("Clocks may differ by an hour; with two the server is silent until the limit", arguments: [-2, -1, 0, 1, 2])
  func clocks(hours: Int) async throws {
    let clock = ManualClock()
    let bridge = try WispBridge(time: clock.timeSource) { $0.hoursAhead = hours }
    let dialer = bridge.dialer()
    guard abs(hours) > 1 else { return try await dialer.dial(Self.request).expectEcho() }
    let dialing = Task { try await dialer.dial(Self.request) }
    try await clock.waitForLimits(count: 1)
    clock.advance(by: .seconds(600))
    let error = try await transportError { try await dialing.value }
    #expect(error.stage == .timeout)
    #expect(error.code == .connectTimeout)
    #expect(error.hint?.contains("clock") == true)
    #expect(!error.requestSent)
  }

  @Test("Seeds may be missing, of another length, late or many")
  func seeds() async throws {
    let seed = [UInt8](repeating: 7, count: 24)
    let scripts: [[LoopbackObfs4Step]] = [
      [], [.seed(Array(seed.dropLast()))], [.seed(seed + [1])], [.seed(seed), .seed(seed.reversed()), .seed(seed)],
      [.packet([9, 0, 2, 1, 2]), .packet([0, 0, 0, 1, 2, 3]), .payload([], padding: 1427)],
    ]
    for script in scripts {
      let bridge = try WispBridge { $0.opening = script }
      try await bridge.dialer().dial(Self.request).expectEcho(10_000)
    }
    let late = try WispBridge { $0.reply = [.seed(seed), .payload([1, 2, 3])] }
    let stream = try await late.dialer().dial(Self.request)
    for _ in 0..<10 {
      try await stream.write(Data([1]))
      #expect(try await stream.bytes(exactly: 3) == Data([1, 2, 3]))
    }
  }

  @Test(
    "Data before an invalid frame is read, then every call throws the same error, and the connection is closed",
    arguments: [
      .changed([1, 2, 3]), .packet([0, 0]), .packet([]), .packet([0, 0, 9, 1]), .length(15, box: []),
      .length(1447, box: []),
      .length(65_535, box: []),
    ] as [LoopbackObfs4Step], [1, Int.max])
  func badFrames(step: LoopbackObfs4Step, piece: Int) async throws {
    // After a wrong length, a client waits for as many bytes as it drew. Any further bytes will do.
    let rest = LoopbackObfs4Step.payload([UInt8](repeating: 5, count: 1427))
    let bridge = try WispBridge {
      $0.opening = [.payload([1, 2]), .drawnSeed, .payload([3], padding: 5), step, rest, rest]
      $0.pieceBytes = piece
    }
    let stream = try await bridge.dialer().dial(Self.request)
    #expect(try await stream.bytes(exactly: 3) == Data([1, 2, 3]))
    for _ in 0..<3 {
      let error = try await transportError { try await stream.read() }
      #expect(error.stage == .response)
      #expect(error.code == .protocolViolation)
      #expect(error.requestSent)
    }
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .protocolViolation)
    #expect(try await transportError { try await stream.finishWriting() }.code == .protocolViolation)
    try await bridge.ended.waitForEvents(count: 1)
    stream.close()
    #expect(try await transportError { try await stream.read() }.code == .streamClosed)
  }

  @Test("An end between frames is clean, one within a frame is not, and one within the response is a refusal")
  func cuts() async throws {
    // The response is 96 bytes long. The frames are 45 and 2 + 16 + 3 + 10 bytes long.
    for end in 0...172 {
      let bridge = try WispBridge {
        $0.responsePadding = 0
        $0.opening = [.drawnSeed, .payload(Array(0..<10))]
        $0.cutAfter = end
      }
      guard end >= 96 else {
        let error = try await transportError { try await bridge.dialer().dial(Self.request) }
        #expect(error.code == .proxyRefused, "\(end)")
        continue
      }
      let stream = try await bridge.dialer().dial(Self.request)
      if end == 172 { #expect(try await stream.bytes(exactly: 10) == Data(0..<10)) }
      guard ![96, 141, 172].contains(end) else {
        for _ in 0..<2 { #expect(try await stream.read() == nil, "\(end)") }
        continue
      }
      for _ in 0..<2 {
        let error = try await transportError { try await stream.read() }
        #expect(error.code == .truncatedStream, "\(end)")
        #expect(error.stage == .response)
      }
    }
  }

  @Test("A flipped bit anywhere never yields a wrong byte")
  func mutations() async throws {
    for index in 0..<172 {
      let bridge = try WispBridge {
        $0.responsePadding = 0
        $0.opening = [.drawnSeed, .payload(Array(0..<10)), .end]
      }
      let dialer = bridge.dialer(over: ChangingDialer(below: bridge.near, index: index))
      var got = Data()
      do throws(TransportError) {
        let stream = try await dialer.dial(Self.request)
        while let bytes = try await stream.read() { got += bytes }
        Issue.record("a change of byte \(index) was not detected")
      } catch {
        // After a changed length, the client waits for more bytes than arrive.
        let codes: [FailureCode] = [.handshakeFailed, .proxyRefused, .protocolViolation, .truncatedStream]
        #expect(codes.contains(error.code), "\(index): \(error)")
      }
      #expect(Data(0..<10).starts(with: got))
    }
  }

  @Test("A silent server ends at the limit, cancelling ends the dial at once, and both close the connection")
  func silence() async throws {
    let clock = ManualClock()
    let bridge = try WispBridge(time: clock.timeSource) { $0.handshakeFault = .silence }
    let limited = Task { try await bridge.dialer().dial(Self.request) }
    try await clock.waitForLimits(count: 1)
    clock.advance(by: .seconds(600))
    #expect(try await transportError { try await limited.value }.code == .connectTimeout)
    try await bridge.ended.waitForEvents(count: 1)

    let task = Task { try await bridge.dialer().dial(DialRequest(host: "any.test", port: 1, connectTimeout: nil)) }
    try await bridge.begun.waitForEvents(count: 2)
    task.cancel()
    #expect(try await transportError { try await task.value }.code == .cancelled)
    try await bridge.ended.waitForEvents(count: 2)
  }

  @Test("Every hello is new, has 141 to 8,192 bytes in one write, and nothing follows it")
  func hellos() async throws {
    let hellos = EventRecorder<Data>()
    let below = MemoryDialer { _, stream in
      let hello = try await stream.read()
      try await stream.finishWriting()
      #expect(try await stream.read() == nil)
      hellos.record(hello ?? Data())
    }
    let dialer = WispDialer(try WispServer(WispBridge().line), over: below)
    for count in 1...20 {
      let error = try await transportError { try await dialer.dial(Self.request) }
      #expect(error.code == .proxyRefused)
      try await hellos.waitForEvents(count: count)
    }
    #expect(hellos.events.allSatisfy { (141...8192).contains($0.count) })
    #expect(Set(hellos.events.map { $0.prefix(32) }).count == 20)
    #expect(Set(hellos.events.map(\.count)).count > 1)
  }
}

@Suite("obfs4 streams: ends, limits and pauses", .timeLimit(.minutes(15)))
struct WispStreamTests {
  private static let request = DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600))

  @Test("Ending our direction sends nothing: the server continues, and no more can be written")
  func finishing() async throws {
    let bridge = try WispBridge()
    let stream = try await bridge.dialer().dial(Self.request)
    try await stream.write(Data("all".utf8))
    try await stream.finishWriting()
    try await stream.finishWriting()
    #expect(try await stream.bytes(exactly: 3) == Data("all".utf8))
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
    let idle = try await transportError { try await stream.read(upTo: 1, within: .milliseconds(1)) }
    #expect(idle.code == .idleTimeout)
    stream.close()
    #expect(try await transportError { try await stream.finishWriting() }.code == .streamClosed)
    try await bridge.ended.waitForEvents(count: 1)
  }

  @Test("A cancelled read loses nothing; second readers and writers, and reads of zero bytes, are refused")
  func turns() async throws {
    let bridge = try WispBridge()
    let stream = try await bridge.dialer().dial(Self.request)
    let before = bridge.reads.events.count
    let reading = Task { try await stream.read(upTo: 4) }
    try await bridge.reads.waitForEvents(count: before + 1)
    #expect(try await transportError { try await stream.read() }.code == .operationInProgress)
    reading.cancel()
    #expect(try await transportError { try await reading.value }.code == .cancelled)
    try await stream.write(Data("kept".utf8))
    #expect(try await stream.bytes(exactly: 4) == Data("kept".utf8))
    #expect(try await transportError { try await stream.read(upTo: 0) }.code == .invalidOption)
    try await stream.write(Data())
    let closed = Task { try await stream.read() }
    stream.close()
    #expect(try await transportError { try await closed.value }.code == .streamClosed)
  }

  @Test("A server that sends padding endlessly does not delay the cancellation of a reader")
  func endlessPadding() async throws {
    let bridge = try WispBridge {
      $0.reply = [LoopbackObfs4Step](repeating: .payload([], padding: 0), count: 200)
    }
    let stream = try await bridge.dialer(shape: .init(longestRead: 50)).dial(Self.request)
    try await stream.write(Data([1]))
    let reading = Task { try await stream.read() }
    reading.cancel()
    #expect(try await transportError { try await reading.value }.code == .cancelled)
  }

  @Test("Modes 1 and 2 pause between pieces for at most 10 ms, by the given clock", arguments: [1, 2])
  func pauses(mode: Int) async throws {
    let clock = ManualClock(autoAdvance: true)
    let bridge = try WispBridge(time: clock.timeSource, mode: mode)
    let stream = try await bridge.dialer().dial(Self.request)
    for _ in 0..<3 { try await stream.expectEcho(20_000) }
    #expect(!clock.sleeps.isEmpty)
    #expect(clock.sleeps.allSatisfy { $0 > .zero && $0 <= .milliseconds(10) })
    // Mode 0 has no pauses.
    let other = ManualClock(autoAdvance: true)
    let immediate = try WispBridge(time: other.timeSource)
    try await immediate.dialer().dial(Self.request).expectEcho(20_000)
    #expect(other.sleeps.isEmpty)
  }

  @Test(
    "A write that is cancelled during a pause closes the stream, and closing ends one at once", arguments: [0, 1, 2])
  func interruptedPauses(way: Int) async throws {
    let clock = ManualClock()
    let bridge = try WispBridge(time: clock.timeSource, mode: 2)
    let stream = try await bridge.dialer().dial(Self.request)
    let writing = Task {
      try await stream.write(Data(repeating: 1, count: 100_000), within: way == 0 ? .seconds(5) : nil)
    }
    try await clock.waitForSleepers(count: 1)
    switch way {
    case 0:
      // The test waits for the limit of the write, not for the pause, which is 10 ms at most.
      try await clock.waitForLimits(count: 1)
      clock.advance(by: .seconds(5))
    case 1: writing.cancel()
    default: stream.close()
    }
    // If pause and limit end at the same time, pauses of zero length follow until the limit is checked.
    let error = try await clock.moving(by: .milliseconds(10)) { try await transportError { try await writing.value } }
    #expect(error.code == [.idleTimeout, .cancelled, .streamClosed][way])
    #expect(try await transportError { try await stream.read() }.code == .streamClosed)
    try await bridge.ended.waitForEvents(count: 1)
  }
}

@Suite("obfs4 and its underlying dialer", .timeLimit(.minutes(15)))
struct WispLayerTests {
  @Test("The server is dialed as a proxy without the client's certificate, after a check for plain text")
  func plaintext() async throws {
    let bridge = try WispBridge()
    let below = PinnedHostsDialer(below: bridge.near, pinned: ["pinned.test", WispBridge.host])
    let dialer = bridge.dialer(over: below)
    let refused = try await transportError { try await dialer.dial(DialRequest(host: "pinned.test", port: 80)) }
    #expect(refused.code == .plaintextRefused)
    #expect(below.dialed.events.isEmpty)

    var options = ConnectionOptions()
    options.tls.identity = .init(certificate: .bytes([1]))
    options.localInterface = "lo"
    _ = try await dialer.dial(
      DialRequest(host: "free.test", port: 80, connection: options, connectTimeout: .seconds(600)))
    let request = try #require(below.dialed.events.first)
    #expect(request.host == WispBridge.host)
    #expect(request.port == 443)
    #expect(request.role == .proxy)
    #expect(request.tls == nil)
    #expect(request.connection?.tls.identity == nil)
    #expect(request.connection?.localInterface == "lo")
    #expect(dialer.trustRevisions(for: request) == below.trustRevisions(for: request))
  }

  @Test("Unsupported requests are refused before anything is dialed")
  func refusedRequests() async throws {
    let bridge = try WispBridge()
    let below = PinnedHostsDialer(below: bridge.near)
    let dialer = bridge.dialer(over: below)
    var unix = ConnectionOptions()
    unix.unixSocketPath = "/tmp/x"
    let requests: [(DialRequest, FailureCode)] = [
      (DialRequest(host: "a.test", port: 443, tls: .init()), .unsupported),
      (DialRequest(host: "", port: 80), .invalidOption), (DialRequest(host: "a b", port: 80), .invalidOption),
      (DialRequest(host: "a.test", port: 0), .invalidOption),
      (DialRequest(host: "a.test", port: 80, connection: unix), .invalidOption),
    ]
    for (request, code) in requests {
      let error = try await transportError { try await dialer.dial(request) }
      #expect(error.code == code, "\(request.host)")
      #expect(error.stage == .request)
    }
    #expect(below.dialed.events.isEmpty)
    #expect(try await transportError { try await dialer.dialDatagrams(requests[1].0) }.code == .unsupported)
  }

  @Test("An unreachable server is reported as a proxy failure without its address")
  func unreachable() async throws {
    let bridge = try WispBridge()
    for (stage, code, told) in [
      (.resolve, .hostNotFound, .proxyNotFound), (.connect, .connectFailed, .proxyConnectFailed),
      (.timeout, .connectTimeout, .connectTimeout),
    ] as [(FailureStage, FailureCode, FailureCode)] {
      let below = FailingDialer(
        error: TransportError(stage: stage, code: code, message: "no connection to \(WispBridge.host):443"))
      let error = try await transportError {
        try await bridge.dialer(over: below).dial(DialRequest(host: "any.test", port: 1))
      }
      #expect(error.code == told)
      #expect(error.message.contains("the obfs4 server"))
      #expect(!"\(error)".contains(WispBridge.host))
      #expect(!error.requestSent)
    }
  }
}

/// A loopback server in memory, and the dialers that reach it.
struct WispBridge {
  static let host = "bridge.test"

  let begun = EventRecorder<Int>()
  let ended = EventRecorder<Int>()
  /// The sizes that were asked for in reads of the stream below obfs4.
  let reads = EventRecorder<Int>()
  let line: String
  private let server: LoopbackObfs4Server
  private let wisp: WispServer
  private let time: TimeSource

  init(
    time: TimeSource = .continuous, mode: Int = 0, _ edit: (inout LoopbackObfs4Behavior) -> Void = { _ in }
  ) throws {
    var behavior = LoopbackObfs4Behavior()
    edit(&behavior)
    server = try LoopbackObfs4Server(behavior, time: time)
    line = "obfs4 \(Self.host):443 cert=\(server.certificate) iat-mode=\(mode)"
    wisp = try WispServer(line)
    self.time = time
  }

  /// The dialer that reaches the server, without obfs4.
  var near: any Dialer { near(MemoryStream.Shape()) }

  private func near(_ shape: MemoryStream.Shape) -> any Dialer {
    StreamRecordingDialer(below: server.dialer(shape: shape), begun: begun, ended: ended, reads: reads)
  }

  func dialer(shape: MemoryStream.Shape = MemoryStream.Shape()) -> WispDialer { dialer(over: near(shape)) }

  func dialer(over below: any Dialer) -> WispDialer { WispDialer(wisp, over: below, time: time) }
}

/// A dialer that records when its streams begin, their reads and writes, and when they are closed. A stream fails the
/// test if it is asked to end our direction.
struct StreamRecordingDialer: Dialer {
  private let below: any Dialer
  private let begun, ended, reads: EventRecorder<Int>
  private let writes: EventRecorder<Data>

  /// - Parameters:
  ///   - reads: records the maximum of each read.
  ///   - writes: records the data of each write.
  init(
    below: any Dialer, begun: EventRecorder<Int> = .init(), ended: EventRecorder<Int> = .init(),
    reads: EventRecorder<Int> = .init(), writes: EventRecorder<Data> = .init()
  ) {
    self.below = below
    self.begun = begun
    self.ended = ended
    self.reads = reads
    self.writes = writes
  }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let stream = RecordingStream(try await below.dial(request), ended, reads, writes)
    begun.record(1)
    return stream
  }
}

private final class RecordingStream: ByteStream {
  private let below: any ByteStream
  private let ended: EventRecorder<Int>
  private let reads: EventRecorder<Int>
  private let writes: EventRecorder<Data>
  private let isClosed = Lock(false)

  init(
    _ below: any ByteStream, _ ended: EventRecorder<Int>, _ reads: EventRecorder<Int>, _ writes: EventRecorder<Data>
  ) {
    self.below = below
    self.ended = ended
    self.reads = reads
    self.writes = writes
  }

  deinit { close() }

  var facts: StreamFacts { below.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    reads.record(maximum)
    return try await below.read(upTo: maximum, within: limit)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    writes.record(data)
    try await below.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    Issue.record("the end of the direction was passed on")
    try await below.finishWriting(within: limit)
  }

  func close() {
    let isFirst = isClosed.withLock { closed in
      defer { closed = true }
      return !closed
    }
    if isFirst { ended.record(1) }
    below.close()
  }
}

/// A dialer that changes one bit of the bytes that its streams read.
struct ChangingDialer: Dialer {
  private let below: any Dialer
  private let index: Int

  /// - Parameter index: the index of the byte that is changed.
  init(below: any Dialer, index: Int) {
    self.below = below
    self.index = index
  }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    ChangingStream(try await below.dial(request), index)
  }
}

private final class ChangingStream: ByteStream {
  private let below: any ByteStream
  private let index: Int
  private let position = Lock(0)

  init(_ below: any ByteStream, _ index: Int) {
    self.below = below
    self.index = index
  }

  var facts: StreamFacts { below.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard let data = try await below.read(upTo: maximum, within: limit) else { return nil }
    var bytes = [UInt8](data)
    position.withLock { position in
      if bytes.indices.contains(index - position) { bytes[index - position] ^= 1 << UInt8(index % 8) }
      position += bytes.count
    }
    return Data(bytes)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try await below.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await below.finishWriting(within: limit)
  }

  func close() { below.close() }
}

/// A dialer that fails every dial.
struct FailingDialer: Dialer {
  private let error: TransportError

  init(error: TransportError) { self.error = error }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { throw error }
}
