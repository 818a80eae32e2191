// SPDX-License-Identifier: Apache-2.0

internal import CLoopback
internal import FoundationEssentials
internal import Lastro
internal import LastroTesting

extension ObfuscatedSession {
  /// Serves a connection to its end on the calling thread.
  func serve(_ connection: LoopbackConnection) throws {
    // Bytes for the target that arrived before it was known.
    var early: [UInt8] = []
    while case .unknown = route {
      let bytes = connection.read(max: 65_536)
      let isOpen = try perform(receive(bytes), on: connection) { payload in
        early += payload
        return []
      }
      guard !bytes.isEmpty, isOpen else { return }
    }
    guard case .port(let port) = route else {
      // Sending an empty array could send padding.
      guard try early.isEmpty || perform(send(early), on: connection, delivering: send) else { return }
      while true {
        let bytes = connection.read(max: 65_536)
        guard !bytes.isEmpty, try perform(receive(bytes), on: connection, delivering: send) else { return }
      }
    }
    try lead(connection, to: port, early)
  }

  private func lead(_ connection: LoopbackConnection, to port: Int, _ early: [UInt8]) throws {
    let upstream = cloopback_connect_tcp(UInt16(clamping: port))
    guard upstream >= 0 else {
      _ = try perform([unreachable], on: connection) { _ in [] }
      return
    }
    defer { cloopback_close(upstream) }
    guard early.isEmpty || cloopback_send(upstream, early, early.count) >= 0 else { return }
    try connection.relay(to: upstream) { bytes throws(LoopbackError) in
      try perform(receive(bytes), on: connection) { payload in
        cloopback_send(upstream, payload, payload.count) < 0 ? [.end] : []
      }
    } fromUpstream: { bytes throws(LoopbackError) in
      try perform(send(bytes), on: connection) { _ in [] }
    }
  }

  /// - Returns: whether the connection stays open.
  private func perform(
    _ actions: [ObfuscatedAction], on connection: LoopbackConnection,
    delivering deliver: ([UInt8]) -> [ObfuscatedAction]
  ) throws(LoopbackError) -> Bool {
    for action in actions {
      switch action {
      case .write(let bytes, let pause):
        try connection.write(bytes)
        if pause > 0, !connection.pause(.microseconds(100) * pause) { return false }
      case .deliver(let payload):
        guard try perform(deliver(payload), on: connection, delivering: deliver) else { return false }
      case .end:
        connection.closeAfterPeer()
        return false
      case .reset:
        connection.resetAfterDelivery()
        return false
      case .stall:
        connection.stall()
        return false
      }
    }
    return true
  }

  /// Serves a stream in memory to its end, as an echo.
  func serve(_ stream: MemoryStream) async throws {
    while let data = try await stream.read() {
      guard try await perform(receive([UInt8](data)), on: stream) else { return }
    }
    // A client that has closed reads nothing more.
    try await stream.finishWriting()
  }

  private func perform(_ actions: [ObfuscatedAction], on stream: MemoryStream) async throws -> Bool {
    for action in actions {
      switch action {
      // Pauses apply only to network connections.
      case .write(let bytes, _): try await stream.write(Data(bytes))
      case .deliver(let payload): guard try await perform(send(payload), on: stream) else { return false }
      case .end:
        try await stream.finishWriting()
        while try await stream.read() != nil {}
        return false
      case .reset:
        stream.truncate()
        while try await stream.read() != nil {}
        return false
      case .stall:
        while try await stream.read() != nil {}
        return false
      }
    }
    return true
  }
}
