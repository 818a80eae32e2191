// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroTunnels

/// The state that the servers of one certificate share: their keys, and the hellos already seen.
final class Obfs4Bridge: Sendable {
  let identity: Obfs4ServerIdentity
  let behavior: LoopbackObfs4Behavior
  /// The time since 1970.
  let now: @Sendable () -> Duration
  private let seen = Lock(Obfs4ReplayFilter())

  init(
    _ behavior: LoopbackObfs4Behavior, now: @escaping @Sendable () -> Duration
  ) throws(Obfs4Failure) {
    let random = RandomSource.system
    let own = try Obfs4ServerIdentity(nodeID: random.bytes(20), secret: random.bytes(32))
    guard let own else { throw .cryptoUnavailable }
    identity = own
    self.behavior = behavior
    self.now = now
  }

  fileprivate func answer(
    _ handshake: inout Obfs4ServerHandshake, _ bytes: [UInt8]
  ) throws(Obfs4Failure) -> Obfs4Answered? {
    try seen.withLock { seen throws(Obfs4Failure) in
      guard let answer = try handshake.receive(bytes, seen: &seen) else { return nil }
      return Obfs4Answered(answer)
    }
  }
}

/// The result of a handshake, in a form that can leave a lock.
private final class Obfs4Answered {
  let response: [UInt8]
  var session: Obfs4Session?

  init(_ answer: consuming Obfs4ServerAnswer) {
    response = answer.response
    session = answer.takeSession()
  }
}

/// The server's side of one stream: bytes in, bytes out.
final class Obfs4ServerSession: ObfuscatedSession {
  private let bridge: Obfs4Bridge
  private var behavior: LoopbackObfs4Behavior { bridge.behavior }
  var route: ObfuscatedRoute? { behavior.target }
  let unreachable = ObfuscatedAction.stall
  private var handshake: Obfs4ServerHandshake
  private var reader: Obfs4FrameReader?
  private var writer: Obfs4FrameWriter?
  /// The traffic shaper that replaces the writer once the target sends bytes.
  private var traffic: Obfs4Traffic?
  private var seed: [UInt8]
  private var sentPieces: ObfuscatedPieces

  init(_ bridge: Obfs4Bridge) throws(Obfs4Failure) {
    self.bridge = bridge
    seed = RandomSource.system.bytes(24)
    let behavior = bridge.behavior
    sentPieces = ObfuscatedPieces(pieceBytes: behavior.pieceBytes, cutAfter: behavior.cutAfter)
    let faults: Obfs4ServerFaults =
      switch behavior.handshakeFault {
      case .wrongMark: .mark
      case .wrongMAC: .mac
      case .wrongAuthentication: .authentication
      case .wrongHour: .hour
      default: []
      }
    handshake = try Obfs4ServerHandshake(
      as: bridge.identity, keyPair: Obfs4KeyPair.generate(using: .system),
      hour: Int(bridge.now() / .seconds(3600)) &+ behavior.hoursAhead, paddingLength: behavior.responsePadding,
      faults: faults, random: .system)
  }

  /// Returns the actions for bytes from the client.
  func receive(_ bytes: [UInt8]) -> [ObfuscatedAction] {
    do throws(Obfs4Failure) {
      if reader == nil { return try sentPieces.limited(shake(bytes)) }
      return try sentPieces.limited(opened(bytes))
    } catch {
      // A server that must not be detected sends nothing.
      return [.stall]
    }
  }

  private func shake(_ bytes: [UInt8]) throws(Obfs4Failure) -> [ObfuscatedAction] {
    guard let answered = try bridge.answer(&handshake, bytes) else { return [] }
    switch behavior.handshakeFault {
    case .silence: return [.stall]
    case .garbage: return [.write([UInt8](repeating: 0, count: 8192), pause: 0), .stall]
    case .end: return [.end]
    case .reset: return [.reset]
    case .wrongMark, .wrongMAC, .wrongAuthentication, .wrongHour: return [.write(answered.response, pause: 0), .stall]
    case nil: break
    }
    guard let session = answered.session.take() else { return [.stall] }
    let leftover = session.leftover
    reader = consume session.reader
    writer = consume session.writer
    return try steps(behavior.opening, after: answered.response) + opened(leftover)
  }

  private func opened(_ bytes: [UInt8]) throws(Obfs4Failure) -> [ObfuscatedAction] {
    var payload: [UInt8] = []
    try reader?.receive(bytes, into: &payload)
    guard !payload.isEmpty else { return [] }
    guard let reply = behavior.reply else { return [.deliver(payload)] }
    return try steps(reply, after: [])
  }

  /// Returns the actions for bytes from the target.
  func send(_ bytes: [UInt8]) -> [ObfuscatedAction] {
    do throws(Obfs4Failure) {
      if let writer = writer.take() {
        traffic = try Obfs4Traffic(
          writer, mode: WispServer.Timing(rawValue: behavior.timing) ?? .immediate, seed: seed, random: .system)
      }
      let pieces = try traffic?.burst(bytes[...]) ?? []
      return sentPieces.limited(pieces.map { .write($0.bytes, pause: $0.delay) })
    } catch {
      return [.stall]
    }
  }

  /// Returns the actions for the steps; consecutive frames are sent in one write.
  private func steps(_ steps: [LoopbackObfs4Step], after begin: [UInt8]) throws(Obfs4Failure) -> [ObfuscatedAction] {
    var bytes = begin, actions: [ObfuscatedAction] = []
    func flush() {
      if !bytes.isEmpty { actions.append(.write(bytes, pause: 0)) }
      bytes = []
    }
    for step in steps {
      switch step {
      case .payload(let payload, let padding): try writer?.write(payload: payload[...], padding: padding, into: &bytes)
      case .seed(let seed): try writer?.write(seed: seed, into: &bytes)
      case .drawnSeed: try writer?.write(seed: seed, into: &bytes)
      case .packet(let packet): try writer?.write(packet: packet, into: &bytes)
      case .length(let length, let box): try writer?.write(length: length, box: box, into: &bytes)
      case .changed(let payload):
        try writer?.write(payload: payload[...], padding: 0, into: &bytes)
        bytes[bytes.count - 1] ^= 1
      case .part(let payload, let count):
        var frame: [UInt8] = []
        try writer?.write(payload: payload[...], padding: 0, into: &frame)
        bytes += frame.prefix(max(0, count))
      case .end, .reset:
        flush()
        actions.append(step == .end ? .end : .reset)
      }
    }
    flush()
    return actions
  }
}
