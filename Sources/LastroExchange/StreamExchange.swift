// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// One exchange of HTTP/1.1 over a stream: a request is written, and its answer read by ``ResponseReader``.
///
/// For one task at a time. It closes nothing: whoever made it closes the stream, or goes on with it. What it throws has
/// `requestSent` set, for a stream that fails does not tell how much of the request the server has.
package struct StreamExchange: Sendable {
  private static let readBytes = 64 * 1024
  private static let sending = "sending the request"
  private static let waiting = "waiting for the response"
  private static let receiving = "receiving the body"

  package let stream: any ByteStream
  private let times: ExchangeTimes
  private var reader: ResponseReader
  /// What was read off the stream, and how much of it is used.
  private var bytes: [UInt8] = []
  private var position = 0
  private var version: String?
  private var bodyBytes: Int64 = 0

  /// - Parameters:
  ///   - stream: nothing was read of it, or all of it that belongs to an earlier exchange.
  ///   - request: what is asked. Default: anything but HEAD, CONNECT and an upgrade.
  ///   - limits: of the answer. Default: the engine's.
  ///   - times: of the exchange.
  package init(
    over stream: any ByteStream, asking request: ResponseReader.Request = .ordinary,
    limits: ExchangeLimits = ExchangeLimits(), within times: ExchangeTimes
  ) {
    self.stream = stream
    self.times = times
    reader = ResponseReader(to: request, limits: limits)
  }

  /// What is known about the exchange.
  package var facts: TransferFacts {
    let facts = stream.facts
    return TransferFacts(
      httpVersion: version, remoteAddress: facts.remoteAddress, remotePort: facts.remotePort,
      connectionID: facts.localPort.map(Int64.init), bytesReceived: bodyBytes, trust: facts.trust)
  }

  /// Whether the stream may carry another exchange: the answer has ended by itself, and nothing lies behind it.
  package var keepsStream: Bool { reader.keepsConnection && position == bytes.count }

  /// Writes the request, head and body.
  ///
  /// - Throws: `TransportError` of the stream, or of a limit in time.
  package func send(_ request: Data) async throws(TransportError) {
    do throws(TransportError) {
      try await stream.write(request, within: try times.next(Self.sending))
    } catch {
      throw failure(error, Self.sending)
    }
  }

  /// Reads the head of the final answer; interim ones are passed over.
  ///
  /// - Throws: `TransportError` of the stream, of a limit, or for an answer that HTTP does not allow; code `connection_lost`
  ///   for an end of the stream before it.
  package mutating func receiveHead() async throws(TransportError) -> ResponseHead {
    guard let head = try await receiveHeadIfAny() else { throw HeadViolation.endsInHead.transportError }
    return head
  }

  /// Reads the head of the final answer; `nil` where the stream ends before it.
  ///
  /// - Throws: `TransportError` of the stream, of a limit, or for an answer that HTTP does not allow.
  package mutating func receiveHeadIfAny() async throws(TransportError) -> ResponseHead? {
    repeat {
      do throws(HeadViolation) {
        if let head = try reader.head(in: bytes, at: &position) {
          version = "1.\(head.version.minor)"
          return head
        }
      } catch {
        throw error.transportError
      }
    } while try await readMore(Self.waiting)
    return nil
  }

  /// Collects the body of the answer, once its head was read.
  ///
  /// - Throws: as ``receiveHead()``; code `body_too_large` for more than `maximum` bytes, `truncated_body` for an end of the
  ///   stream before the body's.
  package mutating func collectBody(upTo maximum: Int) async throws(TransportError) -> Data {
    reader.maximumBodyBytes = maximum
    var body: [UInt8] = []
    while try take(into: &body) {
      guard try await readMore(Self.receiving) else { try finish(); break }
    }
    return Data(body)
  }

  /// What comes of the body of an answer whose status is what matters, and why that is not the whole of it.
  ///
  /// - Parameters:
  ///   - maximum: most bytes of it.
  ///   - limit: longest time spent on it, however the bytes come.
  package mutating func salvageBody(
    upTo maximum: Int, within limit: Duration
  ) async -> (bytes: Data, cut: BodyCut?) {
    let times = ExchangeTimes(Countdown(limit), idle: times.idle, code: .truncatedBody)
    var body: [UInt8] = []
    do throws(TransportError) {
      while try take(into: &body) {
        if body.count > maximum { break }
        guard try await readMore(Self.receiving, within: times) else { try finish(); break }
      }
      return (Data(body.prefix(maximum)), body.count > maximum ? .limit(maximum) : nil)
    } catch {
      return (Data(body.prefix(maximum)), times.countdown.left == .zero ? .late : BodyCut(error))
    }
  }

  /// The bytes that were read behind the answer: of a tunnel, or of the protocol that was upgraded to.
  package mutating func takeLeftover() -> [UInt8] {
    defer { (bytes, position) = ([], 0) }
    return Array(bytes[position...])
  }

  /// Appends what was read of the body. Whether more of it is to come.
  private mutating func take(into body: inout [UInt8]) throws(TransportError) -> Bool {
    let count = body.count
    defer { bodyBytes += Int64(body.count - count) }
    do throws(HeadViolation) {
      try reader.collect(bytes, at: &position, into: &body)
    } catch {
      throw error.transportError
    }
    return !reader.hasEnded
  }

  /// Reads on, once all that was read is used. False at the stream's end.
  private mutating func readMore(
    _ place: String, within other: ExchangeTimes? = nil
  ) async throws(TransportError) -> Bool {
    let times = other ?? times
    let data: Data?
    do throws(TransportError) {
      data = try await stream.read(upTo: Self.readBytes, within: try times.next(place))
    } catch {
      throw failure(error, place, times)
    }
    (bytes, position) = (data.map { Array($0) } ?? [], 0)
    return data != nil
  }

  /// The stream has ended.
  private mutating func finish() throws(TransportError) {
    do throws(HeadViolation) { try reader.finish() } catch { throw error.transportError }
  }

  private func failure(_ error: TransportError, _ place: String, _ other: ExchangeTimes? = nil) -> TransportError {
    var error = (other ?? times).failure(error, place)
    error.requestSent = true
    return error
  }
}

extension BodyCut {
  fileprivate static let late = Self(
    stage: .response, code: .truncatedBody, message: "it did not end in the time that is spent on a refusal")
}
