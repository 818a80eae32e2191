// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWebSocket
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The framer of ``WebSocketProtocol``: the pure machine, driven by a pipeline instead of tasks.
final class WebSocketFramer: ProtocolFramerImplementation {
  static let label = "WebSocket"
  static var definition: ProtocolDefinition { WebSocketProtocol.definition }

  private struct Ping {
    var payload: Data
    var handler: WebSocketProtocol.Metadata.PongHandler?
  }

  private let options: WebSocketProtocol.Options
  private let random = RandomSource.system
  private var handshake = WebSocketHandshake(nonce: (0, 0))
  private var answer = ResponseReader(to: .upgrade)
  private var isOpen = false
  private var hasFailed = false
  private var isCloseSent = false
  private var isCloseReceived = false
  private var isStopping = false
  private var decoder: WebSocketDecoder
  private var encoder = WebSocketEncoder(role: .client)
  private var incoming = Data()
  /// What the message that is being sent is, and how far its text was checked.
  private var outgoing: (kind: WebSocketKind, utf8: UTF8Validator)?
  private var pings: [Ping] = []

  init(framer: ProtocolFramer.Instance) {
    options = framer.options as? WebSocketProtocol.Options ?? WebSocketProtocol.Options()
    let size = max(1, options.maximumMessageSize)
    decoder = WebSocketDecoder(.init(role: .client, maximumFrameBytes: size, maximumMessageBytes: size))
  }

  // MARK: handshake

  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult {
    handshake = WebSocketHandshake(nonce: (random.next(), random.next()), subprotocols: options.subprotocols)
    do throws(TransportError) {
      var configuration = WebSocketConfiguration()
      configuration.subprotocols = options.subprotocols
      do throws(WebSocketError) { try configuration.check() } catch {
        throw .refused(.invalidOption, error.message, hint: error.hint)
      }
      let request = try WebSocketURL.request(url(framer), headers: options.additionalHeaders)
      try RequestCheck.check(request)
      framer.writeOutput(data: try handshake.request(request.head))
      return .willMarkReady
    } catch {
      fail(framer, error)
      return .willMarkReady
    }
  }

  private func url(_ framer: ProtocolFramer.Instance) -> String {
    if let url = options.url { return url }
    let scheme = framer.parameters.tls == nil ? "ws" : "wss"
    switch framer.remote {
    case .url(let url): return url.absoluteString
    case .hostPort(let host, let port):
      if case .ipv6(let address) = host { return "\(scheme)://[\(address.address)]:\(port)/" }
      return "\(scheme)://\(host):\(port)/"
    default: return "\(scheme)://localhost/"
    }
  }

  private func fail(_ framer: ProtocolFramer.Instance, _ error: TransportError) {
    hasFailed = true
    framer.markFailed(error: .transport(error))
  }

  /// Takes the bytes of the answer's head off the front of `bytes`; false while it is not complete.
  private func readHead(_ bytes: inout [UInt8], _ framer: ProtocolFramer.Instance) -> Bool {
    var position = 0
    do throws(HeadViolation) {
      guard let head = try answer.head(in: bytes, at: &position) else { return false }
      bytes.removeFirst(position)
      return finish(head, framer)
    } catch {
      fail(framer, error.transportError)
      return false
    }
  }

  private func finish(_ answer: ResponseHead, _ framer: ProtocolFramer.Instance) -> Bool {
    guard answer.status == 101 else {
      fail(
        framer,
        TransportError(
          stage: .http, code: .unexpectedStatus, message: "the server answered \(answer.status) and not 101",
          hint: "WebSocketClient knows redirects and authentication"))
      return false
    }
    do throws(WebSocketHandshakeFailure) {
      _ = try handshake.check(answer)
    } catch {
      fail(framer, TransportError(stage: .response, code: .protocolViolation, message: error.message))
      return false
    }
    isOpen = true
    framer.markReady()
    return true
  }

  // MARK: input

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    var bytes: [UInt8] = []
    _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: .max) { buffer, _ in
      guard let buffer else { return 0 }
      bytes = Array(buffer)
      return buffer.count
    }
    guard !bytes.isEmpty, !hasFailed, !isCloseReceived else { return 1 }
    if !isOpen {
      guard readHead(&bytes, framer) else { return 1 }
    }
    bytes.withUnsafeBytes { decoder.receive($0) }
    do throws(WebSocketViolation) {
      while let event = try decoder.next() { handle(event, framer) }
    } catch {
      hasFailed = true
      writeClose(WebSocketCloseRules.payload(code: error.closeCode, reason: ""), framer)
      fail(framer, TransportError(stage: .response, code: .protocolViolation, message: error.message))
    }
    return 1
  }

  private func handle(_ event: WebSocketDecoder.Event, _ framer: ProtocolFramer.Instance) {
    switch event {
    case .piece(let piece):
      incoming.append(contentsOf: piece.bytes)
      guard piece.isFinal else { return }
      deliver(.init(opcode: piece.kind == .text ? .text : .binary), incoming, framer)
      incoming = Data()
    case .ping(let payload):
      if options.autoReplyPing {
        if !isCloseSent { framer.writeOutput(data: Data(encoder.control(.pong, payload, key: key))) }
      } else {
        deliver(.init(opcode: .ping), Data(payload), framer)
      }
    case .pong(let payload):
      guard let index = pings.firstIndex(where: { $0.payload == Data(payload) }) else {
        return deliver(.init(opcode: .pong), Data(payload), framer)
      }
      for ping in pings[...index] { ping.handler?(nil) }
      pings.removeFirst(index + 1)
    case .close(let code, let reason):
      isCloseReceived = true
      let metadata = WebSocketProtocol.Metadata(opcode: .close)
      metadata.closeCode = WebSocketCloseCode(rawValue: code ?? 1005)
      deliver(metadata, Data(reason.utf8), framer)
      writeClose(WebSocketCloseRules.payload(code: code, reason: ""), framer)
      // Else the server ends the connection (RFC 6455 §7.1.1).
      if isStopping { framer.markFailed(error: nil) }
    }
  }

  private func deliver(
    _ metadata: WebSocketProtocol.Metadata, _ data: Data, _ framer: ProtocolFramer.Instance
  ) {
    framer.deliverInput(data: data, message: ProtocolFramer.Message(attachment: metadata), isComplete: true)
  }

  // MARK: output

  private var key: UInt32 { UInt32(truncatingIfNeeded: random.next()) }

  private func writeClose(_ payload: [UInt8], _ framer: ProtocolFramer.Instance) {
    guard !isCloseSent else { return }
    isCloseSent = true
    framer.writeOutput(data: Data(encoder.control(.close, payload, key: key)))
  }

  /// What cannot be sent is left untaken, which fails the send.
  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    guard !isCloseSent, !hasFailed else { return }
    let metadata = message.attachment as? WebSocketProtocol.Metadata ?? .init(opcode: .binary)
    _ = framer.parseOutput(minimumIncompleteLength: messageLength, maximumLength: .max) { buffer, _ in
      let payload = buffer.map(Array.init) ?? []
      return send(metadata, payload, isComplete, framer) ? payload.count : 0
    }
  }

  private func send(
    _ metadata: WebSocketProtocol.Metadata, _ payload: [UInt8], _ isComplete: Bool, _ framer: ProtocolFramer.Instance
  ) -> Bool {
    switch metadata.opcode {
    case .text, .binary, .cont:
      return sendData(metadata.opcode == .text ? .text : .binary, payload, isComplete, framer)
    case .ping, .pong:
      guard payload.count <= 125, isComplete else { return false }
      if metadata.opcode == .ping { pings.append(Ping(payload: Data(payload), handler: metadata.takePongHandler())) }
      framer.writeOutput(
        data: Data(encoder.control(metadata.opcode == .ping ? .ping : .pong, payload, key: key)))
    case .close:
      guard payload.count <= WebSocketCloseRules.maximumReasonBytes, metadata.closeCode.maySend, isComplete,
        String(validating: payload, as: UTF8.self) != nil
      else { return false }
      writeClose([UInt8(metadata.closeCode.rawValue >> 8), UInt8(metadata.closeCode.rawValue & 255)] + payload, framer)
    }
    return true
  }

  private func sendData(
    _ kind: WebSocketKind, _ payload: [UInt8], _ isComplete: Bool, _ framer: ProtocolFramer.Instance
  ) -> Bool {
    var message = outgoing ?? (kind, UTF8Validator())
    if message.kind == .text {
      guard payload.withBytes({ message.utf8.consume($0) }), !isComplete || message.utf8.isComplete else {
        return false
      }
    }
    let isFirst = outgoing == nil, kind = message.kind, key = key
    let frame = payload.withUnsafeBytes {
      encoder.data(kind, $0, isFirst: isFirst, isFinal: isComplete, key: key)
    }
    outgoing = isComplete ? nil : message
    framer.writeOutput(data: Data(frame))
    return true
  }

  // MARK: end

  func stop(framer: ProtocolFramer.Instance) -> Bool {
    guard isOpen, !hasFailed, !isCloseReceived else { return true }
    isStopping = true
    writeClose(WebSocketCloseRules.payload(code: 1000, reason: ""), framer)
    return false
  }

  func cleanup(framer: ProtocolFramer.Instance) {
    for ping in pings { ping.handler?(.posix(.ECANCELED)) }
    pings = []
  }
}
