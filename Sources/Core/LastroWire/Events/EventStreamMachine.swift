// SPDX-License-Identifier: Apache-2.0

/// Parses server-sent events (WHATWG HTML §9.2.5 and §9.2.6) from bytes that arrive in pieces.
///
/// Leniencies, as the standard requires: lines end in CRLF, LF or CR; one byte order mark at the start is dropped;
/// bytes that are not UTF-8 become U+FFFD; unknown fields are ignored; an incomplete event at the end is dropped. In
/// one respect it follows browsers and not the text: the identifier of an earlier connection remains in force until an
/// event has another one.
///
/// Rules for editing: no I/O; an event is returned as soon as its empty line has ended, without waiting for the bytes
/// after it; at most one line and one event are buffered, each up to its limit.
package struct EventStreamMachine: Sendable {
  package struct Limits: Sendable {
    package var lineBytes: Int
    package var eventBytes: Int
    package var idBytes: Int

    package init(lineBytes: Int, eventBytes: Int, idBytes: Int) {
      self.lineBytes = lineBytes
      self.eventBytes = eventBytes
      self.idBytes = idBytes
    }
  }

  package struct Event: Sendable, Equatable {
    package var name: String
    package var data: String
    package var id: String

    package init(name: String, data: String, id: String) {
      self.name = name
      self.data = data
      self.id = id
    }
  }

  /// A limit was exceeded. The value is the limit.
  package enum Violation: Error, Equatable {
    case line(Int)
    case event(Int)
    case id(Int)
  }

  private let limits: Limits
  private var lines: LineCutter
  private var isFirstLine = true
  private var name: [UInt8] = []
  /// The lines of data, each followed by an LF.
  private var data: [UInt8] = []
  private var id: String
  private var violation: Violation?

  /// The identifier of the latest event, or of a block without data that had one.
  package private(set) var lastEventID: String
  /// The latest reconnection delay from the server in milliseconds; at most `Int.max`.
  package private(set) var retry: Int?

  /// Creates a machine.
  ///
  /// - Parameter lastEventID: the last identifier of the previous connection. Default: empty.
  package init(limits: Limits, lastEventID: String = "") {
    self.limits = limits
    self.lastEventID = lastEventID
    id = lastEventID
    lines = LineCutter(maximumBytes: limits.lineBytes, endsAtReturn: true)
  }

  /// Adds received bytes.
  package mutating func feed(_ bytes: [UInt8]) { lines.feed(bytes) }

  /// Returns the next event; `nil` if more bytes are needed. After an error, every call throws the same error.
  package mutating func next() throws(Violation) -> Event? {
    if let violation { throw violation }
    do throws(Violation) {
      while let line = try nextLine() {
        if !line.isEmpty {
          try interpret(line)
        } else if let event = dispatch() {
          return event
        }
      }
      return nil
    } catch {
      violation = error
      (lines, name, data) = (LineCutter(maximumBytes: 0, endsAtReturn: true), [], [])
      throw error
    }
  }

  private mutating func nextLine() throws(Violation) -> ArraySlice<UInt8>? {
    let line: ArraySlice<UInt8>?
    do throws(LineCutter.LineTooLong) { line = try lines.next() } catch { throw .line(error.maximum) }
    guard isFirstLine, let first = line else { return line }
    isFirstLine = false
    return first.starts(with: [0xEF, 0xBB, 0xBF]) ? first.dropFirst(3) : first
  }

  private mutating func interpret(_ line: ArraySlice<UInt8>) throws(Violation) {
    let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == 0x20 { value = value.dropFirst() }
    // The name of a comment is empty.
    switch line[..<colon] {
    case let field where field.elementsEqual("data".utf8): try append(value)
    case let field where field.elementsEqual("event".utf8): name = Array(value)
    case let field where field.elementsEqual("id".utf8): try identify(value)
    case let field where field.elementsEqual("retry".utf8): retry = Int(clampingDigits: value) ?? retry
    default: break
    }
  }

  private mutating func append(_ value: ArraySlice<UInt8>) throws(Violation) {
    guard data.count + value.count <= limits.eventBytes else { throw .event(limits.eventBytes) }
    data += value
    data.append(0x0A)
  }

  private mutating func identify(_ value: ArraySlice<UInt8>) throws(Violation) {
    guard value.count <= limits.idBytes else { throw .id(limits.idBytes) }
    if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
  }

  private mutating func dispatch() -> Event? {
    lastEventID = id
    defer { (name, data) = ([], []) }
    guard !data.isEmpty else { return nil }
    return Event(
      name: name.isEmpty ? "message" : String(decoding: name, as: UTF8.self),
      data: String(decoding: data.dropLast(), as: UTF8.self), id: id)
  }
}
