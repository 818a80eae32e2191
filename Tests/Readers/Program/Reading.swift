// SPDX-License-Identifier: Apache-2.0

import LastroWire

/// Each reader's result as one line of JSON: what was read, or `{"no":MESSAGE}`.
enum Reading {
  static func refusal(_ message: String) -> Text {
    var text = Text()
    text.raw("{\"no\":")
    text.string(message)
    text.raw("}")
    return text
  }

  private static func fields(_ text: inout Text, _ fields: [ResponseHead.Field]) {
    text.list(fields) { text, field in
      text.raw("[")
      text.string(field.name.lowercased())
      text.raw(",")
      text.string(field.value)
      text.raw("]")
    }
  }

  // MARK: heads

  /// The latest head that was accepted, which the next input is also compared with.
  nonisolated(unsafe) private static var known: KnownHead?  // Because there is one thread.

  /// Reads a response, its connection ending with the input.
  static func response(_ input: ArraySlice<UInt8>, _ method: String) -> Text {
    let request: ResponseReader.Request =
      switch method {
      case "HEAD": .head
      case "CONNECT": .connect
      case "UPGRADE": .upgrade
      default: .ordinary
      }
    let plain = Splits.agreed(input) { response($0, ResponseReader(to: request)).text }
    if let known {
      let other = response([input], ResponseReader(to: request, resembling: known)).text
      if other.bytes != plain.bytes { return Splits.difference(plain, other, [-1]) }
    }
    if let latest = response([input], ResponseReader(to: request)).known {
      let other = response([input], ResponseReader(to: request, resembling: latest)).text
      if other.bytes != plain.bytes { return Splits.difference(plain, other, [-2]) }
      known = latest
    }
    return plain
  }

  private static func response(
    _ pieces: [ArraySlice<UInt8>], _ start: ResponseReader
  ) -> (text: Text, known: KnownHead?) {
    var reader = start
    var (final, body, rest): (ResponseHead?, [UInt8], Int) = (nil, [], 0)
    do throws(HeadViolation) {
      for piece in pieces {
        let bytes = Array(piece)
        rest += try consume(bytes, &reader, &final, &body)
      }
      if !reader.hasEnded { try reader.connectionEnded() }
    } catch {
      return (refusal(error.message), nil)
    }
    guard let final else { return (refusal("no head"), nil) }
    var text = Text()
    text.raw("{\"version\":")
    text.string("\(final.version.major).\(final.version.minor)")
    text.raw(",\"status\":")
    text.number(Int64(final.status))
    text.raw(",\"reason\":")
    text.string(final.reason)
    text.raw(",\"fields\":")
    fields(&text, final.fields)
    text.raw(",\"body\":")
    text.string(body)
    text.raw(",\"trailers\":")
    fields(&text, reader.trailers)
    text.raw(",\"rest\":")
    text.number(Int64(rest))
    text.raw(",\"keeps\":")
    text.flag(reader.mayKeepConnection)
    text.raw("}")
    return (text, reader.takeKnown())
  }

  /// Returns the number of bytes that do not belong to the response.
  private static func consume(
    _ input: [UInt8], _ reader: inout ResponseReader, _ final: inout ResponseHead?, _ body: inout [UInt8]
  ) throws(HeadViolation) -> Int {
    let size = input.count
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: input)
    let bytes = UnsafeRawBufferPointer(buffer)
    var position = 0
    while true {
      switch try reader.next(in: bytes, at: &position) {
      case .needsMore: return 0
      case .interim: break
      case .head(let head): final = head
      case .body(let count):
        // Not always all of it, as a caller whose own buffer is full.
        let used = count > 7 ? count - 3 : count
        body += bytes[position..<position + used]
        reader.markUsed(used)
        position += used
      case .end: return size - position
      }
    }
  }

  // MARK: events

  static func events(_ input: ArraySlice<UInt8>) -> Text {
    Splits.agreed(input) { pieces in
      let limit = 1 << 20
      var machine = EventStreamMachine(limits: .init(lineBytes: limit, eventBytes: limit, idBytes: limit))
      var events: [EventStreamMachine.Event] = []
      do throws(EventStreamMachine.Violation) {
        for piece in pieces {
          machine.feed(Array(piece))
          while let event = try machine.next() { events.append(event) }
        }
      } catch {
        return refusal("a limit was exceeded")
      }
      var text = Text()
      text.raw("{\"events\":")
      text.list(events) { text, event in
        text.raw("[")
        text.string(event.name)
        text.raw(",")
        text.string(event.data)
        text.raw(",")
        text.string(event.id)
        text.raw("]")
      }
      text.raw(",\"retry\":")
      text.number(machine.retry.map(Int64.init))
      text.raw(",\"last\":")
      text.string(machine.lastEventID)
      text.raw("}")
      return text
    }
  }

  // MARK: multipart

  static func parts(_ input: ArraySlice<UInt8>, _ boundary: String) -> Text {
    guard let boundary = MultipartBoundary(reading: boundary) else { return refusal("no boundary") }
    return Splits.agreed(input) { pieces in
      var machine = MultipartMachine(boundary: boundary)
      var parts: [(fields: [ResponseHead.Field], body: [UInt8])] = []
      do throws(MultipartViolation) {
        for piece in pieces {
          Array(piece).withUnsafeBytes { machine.append($0) }
          while let event = try machine.next() {
            switch event {
            case .head(let fields): parts.append((fields, []))
            case .body(let bytes): parts[parts.count - 1].body += bytes
            case .partEnd, .end: break
            }
          }
        }
        try machine.finish()
      } catch {
        return refusal(error.message)
      }
      var text = Text()
      text.raw("{\"parts\":")
      text.list(parts) { text, part in
        text.raw("[")
        fields(&text, part.fields)
        text.raw(",")
        text.string(part.body)
        text.raw("]")
      }
      text.raw("}")
      return text
    }
  }

  // MARK: cookies

  static func cookie(_ input: ArraySlice<UInt8>) -> Text {
    let line: SetCookieLine
    do throws(SetCookieLine.Problem) { line = try SetCookieLine(input) } catch { return refusal("\(error)") }
    var text = Text()
    text.raw("{\"name\":")
    text.string(line.name)
    text.raw(",\"value\":")
    text.string(line.value)
    text.raw(",\"expires\":")
    text.number(line.expires)
    text.raw(",\"age\":")
    text.number(line.maximumAge)
    text.raw(",\"domain\":")
    text.string(line.domain)
    text.raw(",\"path\":")
    text.string(line.path)
    text.raw(",\"secure\":")
    text.flag(line.isSecure)
    text.raw(",\"httponly\":")
    text.flag(line.isHTTPOnly)
    text.raw(",\"samesite\":")
    text.string(line.sameSite == .unspecified ? nil : "\(line.sameSite)")
    text.raw("}")
    return text
  }

  // MARK: cache

  static func cacheControl(_ input: ArraySlice<UInt8>) -> Text {
    let control = CacheControl([String(decoding: input, as: UTF8.self)])
    var text = Text()
    text.raw("{\"flags\":")
    let flags = [
      ("immutable", control.isImmutable), ("must-revalidate", control.mustRevalidate),
      ("must-understand", control.mustUnderstand), ("no-cache", control.noCache), ("no-store", control.noStore),
      ("only-if-cached", control.onlyIfCached), ("private", control.isPrivate),
      ("proxy-revalidate", control.proxyRevalidate), ("public", control.isPublic),
    ]
    text.list(flags.filter(\.1)) { $0.string($1.0) }
    let numbers = [
      ("max-age", control.maxAge), ("max-stale", control.maxStale), ("min-fresh", control.minFresh),
      ("s-maxage", control.sharedMaxAge), ("stale-if-error", control.staleIfError),
      ("stale-while-revalidate", control.staleWhileRevalidate),
    ]
    for (name, value) in numbers {
      text.raw(",")
      text.string(name)
      text.raw(":")
      text.number(value)
    }
    text.raw("}")
    return text
  }
}
