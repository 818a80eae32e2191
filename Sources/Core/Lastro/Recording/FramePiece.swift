// SPDX-License-Identifier: Apache-2.0

/// A frame that was received or sent on an HTTP/2 connection, or a part of one, with its header block decoded.
package struct FramePiece: Sendable, Equatable {
  /// The head of a frame (RFC 9113 §4.1).
  package struct Head: Sendable, Equatable {
    package var type: UInt8
    package var flags: UInt8
    package var stream: Int32
    package var length: Int

    package init(type: UInt8, flags: UInt8, stream: Int32, length: Int) {
      (self.type, self.flags, self.stream, self.length) = (type, flags, stream, length)
    }
  }

  /// A field of a header block, as it was decoded.
  package struct Field: Sendable, Equatable {
    package var name: [UInt8]
    package var value: [UInt8]

    package init(name: [UInt8], value: [UInt8]) { (self.name, self.value) = (name, value) }
  }

  /// The head of the frame; `nil` for a further part of the frame before. HEADERS have neither padding nor priority.
  package var head: Head?
  /// The fields that this part of a header block adds.
  package var fields: [Field] = []
  /// Whether the header block is not valid HPACK behind its fields.
  package var isInvalid = false
  /// The bytes of the payload that this part adds, unless it is a header block.
  package var payload: [UInt8] = []
  /// The number of further bytes of the payload, which are not kept.
  package var left = 0
  /// Whether the frame is complete.
  package var isEnd = false

  package init(_ head: Head? = nil) { self.head = head }

  /// The memory that the piece counts for in the limit of a recorder.
  var byteCount: Int {
    fields.reduce(16 + payload.count) { $0 + $1.name.count + $1.value.count }
  }
}

/// The state of an HTTP/2 connection when a transfer begins to use it.
package struct SessionNote: Sendable, Codable, Equatable {
  /// The numbers and values of the server's settings; `nil` before they have arrived.
  package var settings: [[Int]]?
  /// The number of SETTINGS of the client that the server has not acknowledged.
  package var unacknowledged: Int
  /// The number of body bytes that the server accepts on the connection.
  package var window: Int
  /// The time at which bytes were last received, on the engine's clock.
  package var heardAt: Int64

  enum CodingKeys: String, CodingKey { case settings, unacknowledged, window, heardAt = "heard_at" }

  package init(settings: [[Int]]?, unacknowledged: Int, window: Int, heardAt: Int64) {
    (self.settings, self.unacknowledged, self.window, self.heardAt) = (settings, unacknowledged, window, heardAt)
  }
}
