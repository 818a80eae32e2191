// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroTunnels
internal import LastroWire

/// The state that the streams of one server share: the key, the salts already seen, and the requested targets.
final class ShadowsocksHouse: Sendable {
  let behavior: LoopbackShadowsocksBehavior
  let key: ShadowsocksKey
  /// The key for the output.
  let answerKey: ShadowsocksKey
  private let seen = Lock<(salts: Set<[UInt8]>, targets: [String])>(([], []))

  init(_ behavior: LoopbackShadowsocksBehavior) throws(ShadowsocksFailure) {
    self.behavior = behavior
    let password = Array(behavior.password.utf8)
    key = try ShadowsocksKey(password: password, method: behavior.method)
    let isOther = behavior.fault == .anotherPassword
    answerKey = isOther ? try ShadowsocksKey(password: password + [1], method: behavior.method) : key
  }

  var targets: [String] { seen.withLock(\.targets) }

  fileprivate func isNew(_ salt: [UInt8]) -> Bool { seen.withLock { $0.salts.insert(salt).inserted } }

  fileprivate func note(_ address: SOCKS5Address) {
    let host =
      switch address.host {
      case .name(let name): name
      case .ipv4(let bytes): bytes.map(String.init).joined(separator: ".")
      case .ipv6(let bytes):
        "["
          + stride(from: 0, to: 16, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
          .joined(separator: ":") + "]"
      }
    seen.withLock { $0.targets.append("\(host):\(address.port)") }
  }
}

/// The server's side of one stream: bytes in, bytes out.
final class ShadowsocksServerSession: ObfuscatedSession {
  private let house: ShadowsocksHouse
  private var behavior: LoopbackShadowsocksBehavior { house.behavior }
  private var reader: ShadowsocksReader
  private var writer: ShadowsocksWriter?
  private var sentPieces: ObfuscatedPieces
  /// The bytes of the address received so far.
  private var early: [UInt8] = []
  private var address: SOCKS5Address?
  let unreachable = ObfuscatedAction.end

  init(_ house: ShadowsocksHouse) {
    self.house = house
    reader = ShadowsocksReader(house.key)
    sentPieces = ObfuscatedPieces(pieceBytes: house.behavior.pieceBytes, cutAfter: house.behavior.cutAfter)
  }

  var route: ObfuscatedRoute? {
    guard let address else { return nil }
    return switch behavior.target {
    case .echo: .echo
    case .port(let port): .port(port)
    case .asked: .port(Int(address.port))
    }
  }

  func receive(_ bytes: [UInt8]) -> [ObfuscatedAction] {
    if behavior.fault == .reflection { return sentPieces.limited([.write(bytes, pause: 0)]) }
    do throws(ShadowsocksFailure) {
      let hadSalt = reader.salt != nil
      var payload: [UInt8] = []
      try reader.receive(bytes, into: &payload)
      if !hadSalt, let salt = reader.salt, !house.isNew(salt) { return [.stall] }
      return sentPieces.limited(try opened(payload))
    } catch {
      // A server that must not be detected sends nothing.
      return [.stall]
    }
  }

  func send(_ bytes: [UInt8]) -> [ObfuscatedAction] {
    do throws(ShadowsocksFailure) {
      return sentPieces.limited(try steps([.payload(bytes)]))
    } catch {
      return [.stall]
    }
  }

  private func opened(_ payload: [UInt8]) throws(ShadowsocksFailure) -> [ObfuscatedAction] {
    guard address == nil else { return try led(payload) }
    early += payload
    switch SOCKS5Address.first(of: early) {
    case .incomplete: return []
    case .invalid: return [.stall]
    case .address(let address, let length):
      self.address = address
      house.note(address)
      return try begun() + led([UInt8](early.dropFirst(length)))
    }
  }

  private func begun() throws(ShadowsocksFailure) -> [ObfuscatedAction] {
    switch behavior.fault {
    case .silence: [.stall]
    case .end: [.end]
    case .reset: [.reset]
    case .garbage: [.write([UInt8](repeating: 0, count: 200), pause: 0), .stall]
    case .anotherPassword, .clientsSalt, .reflection, nil: try steps(behavior.opening)
    }
  }

  private func led(_ payload: [UInt8]) throws(ShadowsocksFailure) -> [ObfuscatedAction] {
    guard !payload.isEmpty else { return [] }
    guard let reply = behavior.reply else { return [.deliver(payload)] }
    return try steps(reply)
  }

  private func makeWriterIfNeeded() throws(ShadowsocksFailure) {
    guard writer == nil else { return }
    var salt = reader.salt ?? []
    if behavior.fault != .clientsSalt { salt = RandomSource.system.bytes(house.key.method.keyLength) }
    writer = try ShadowsocksWriter(house.answerKey, salt: salt)
  }

  /// Returns the actions for the steps; consecutive chunks are sent in one write.
  private func steps(_ steps: [LoopbackShadowsocksStep]) throws(ShadowsocksFailure) -> [ObfuscatedAction] {
    var bytes: [UInt8] = [], actions: [ObfuscatedAction] = []
    func flush() {
      if !bytes.isEmpty { actions.append(.write(bytes, pause: 0)) }
      bytes = []
    }
    for step in steps {
      try makeWriterIfNeeded()
      switch step {
      case .salt: writer?.appendSalt(to: &bytes)
      case .payload(let payload): try writer?.write(payload[...], into: &bytes)
      case .length(let length, let payload): try writer?.write(length: length, payload: payload[...], into: &bytes)
      case .changed(let payload):
        try writer?.write(payload[...], into: &bytes)
        bytes[bytes.count - 1] ^= 1
      case .changedLength(let payload):
        writer?.appendSalt(to: &bytes)
        let start = bytes.count
        try writer?.write(payload[...], into: &bytes)
        bytes[start] ^= 1
      case .part(let payload, let count):
        writer?.appendSalt(to: &bytes)
        var chunk: [UInt8] = []
        try writer?.write(payload[...], into: &chunk)
        bytes += chunk.prefix(max(0, count))
      case .end, .reset:
        flush()
        actions.append(step == .end ? .end : .reset)
      }
    }
    flush()
    return actions
  }
}
