// SPDX-License-Identifier: Apache-2.0

/// Encodes frames. The caller supplies random mask keys; a server needs none.
package struct WebSocketEncoder: ~Copyable {
  private let role: WebSocketRole
  private let deflate: WebSocketDeflate?
  private let minimumCompressedBytes: Int
  private var deflater: WebSocketDeflater?
  private var isCompressing = false

  /// Creates an encoder.
  ///
  /// - Parameters:
  ///   - deflate: the negotiated parameters; `nil` for no compression.
  ///   - minimumCompressedBytes: messages in a single frame that are smaller are sent uncompressed.
  package init(role: WebSocketRole, deflate: WebSocketDeflate? = nil, minimumCompressedBytes: Int = 1024) {
    self.role = role
    self.deflate = deflate
    self.minimumCompressedBytes = minimumCompressedBytes
    let bits = deflate?.windowBits(of: role) ?? 15
    // zlib does not support a window of 256 bytes. Sending uncompressed messages is always allowed.
    if deflate != nil, bits > 8 { deflater = WebSocketDeflater(windowBits: bits) }
  }

  /// Appends a frame of a message.
  ///
  /// - Parameters:
  ///   - isFirst: whether the frame begins the message.
  ///   - isFinal: whether the frame ends the message.
  ///   - key: the mask key; used only by clients.
  package mutating func data(
    _ kind: WebSocketKind, _ payload: UnsafeRawBufferPointer, isFirst: Bool = true, isFinal: Bool = true, key: UInt32,
    into bytes: inout [UInt8]
  ) {
    if isFirst { isCompressing = deflater != nil && (!isFinal || payload.count >= minimumCompressedBytes) }
    let opcode: WebSocketOpcode = isFirst ? (kind == .text ? .text : .binary) : .continuation
    guard isCompressing, let compressed = deflater?.deflate(payload, isFinal: isFinal) else {
      return frame(opcode, payload, isFinal: isFinal, isCompressed: false, key: key, into: &bytes)
    }
    if isFinal, deflate?.forgetsContext(of: role) ?? false { deflater?.reset() }
    compressed.withUnsafeBytes {
      frame(opcode, $0, isFinal: isFinal, isCompressed: isFirst, key: key, into: &bytes)
    }
  }

  /// Appends a control frame. Payloads are truncated to 125 bytes.
  package func control(_ opcode: WebSocketOpcode, _ payload: [UInt8] = [], key: UInt32, into bytes: inout [UInt8]) {
    payload.prefix(125).withUnsafeBytes {
      frame(opcode, $0, isFinal: true, isCompressed: false, key: key, into: &bytes)
    }
  }

  private func frame(
    _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool, isCompressed: Bool, key: UInt32,
    into bytes: inout [UInt8]
  ) {
    let head = WebSocketFrameHead(
      isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, key: role == .client ? key : nil,
      length: payload.count)
    bytes.reserveCapacity(bytes.count + WebSocketFrameHead.maximumBytes + payload.count)
    head.append(to: &bytes)
    let start = bytes.count
    bytes += payload
    if let key = head.key {
      bytes.withUnsafeMutableBytes { WebSocketMask.apply(key, to: .init(rebasing: $0[start...])) }
    }
  }
}
