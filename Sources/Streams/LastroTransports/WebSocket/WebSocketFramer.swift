// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import LastroWebSocket
internal import LastroWire

/// The framer of ``WebSocketProtocol``: a ``WebSocketSession`` driven by a pipeline instead of tasks. The connection
/// has its own time limits, so the session's clock does not advance.
final class WebSocketFramer: ProtocolFramerImplementation {
  static let label = "WebSocket"
  static var definition: ProtocolDefinition { WebSocketProtocol.definition }

  private let options: WebSocketProtocol.Options
  private let random = RandomSource.system
  private var handshake = WebSocketHandshake(nonce: (0, 0))
  private var answer = ResponseReader(to: .upgrade)
  private var isOpen = false
  private var hasFailed = false
  private var isCloseReceived = false
  private var isStopping = false
  private var session: WebSocketSession
  private let reader: UInt64
  private var incoming = Data()
  /// The ID and kind of the message being sent, and the UTF-8 validation of its text.
  private var outgoing: (id: UInt64, kind: WebSocketKind, utf8: UTF8Validator)?
  private var lastID: UInt64 = 0
  private var pongHandlers: [UInt64: WebSocketProtocol.Metadata.PongHandler] = [:]

  init(framer: ProtocolFramer.Instance) {
    options = framer.options as? WebSocketProtocol.Options ?? WebSocketProtocol.Options()
    let size = max(1, options.maximumMessageSize)
    var configuration = WebSocketSession.Configuration(
      .init(role: .client, maximumFrameBytes: size, maximumMessageBytes: size))
    configuration.maximumOutgoingFrameBytes = .max
    // The connection bounds the content that is delivered and unread, so the session does not.
    configuration.receiveBufferBytes = .max
    configuration.answersPings = options.autoReplyPing
    session = WebSocketSession(configuration, now: .zero)
    reader = session.join()
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

  /// Removes the head of the response from the front of `bytes`; returns false while it is incomplete.
  private func readHead(_ bytes: inout [UInt8], _ framer: ProtocolFramer.Instance) -> Bool {
    var position = 0
    do throws(HeadViolation) {
      guard let head = try answer.head(in: bytes, at: &position) else { return false }
      bytes.removeFirst(position)
      return completeHandshake(head, framer)
    } catch {
      fail(framer, error.transportError)
      return false
    }
  }

  private func completeHandshake(_ answer: ResponseHead, _ framer: ProtocolFramer.Instance) -> Bool {
    guard answer.status == 101 else {
      fail(
        framer,
        TransportError(
          stage: .http, code: .unexpectedStatus, message: "the server answered \(answer.status) and not 101",
          hint: "use WebSocketClient for redirects and authentication"))
      return false
    }
    do throws(WebSocketHandshakeFailure) {
      _ = try handshake.check(answer)
    } catch {
      fail(
        framer,
        TransportError(stage: .response, code: .protocolViolation, message: error.message, hint: error.hint))
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
    bytes.withUnsafeBytes { session.receive($0) }
    // Process one event at a time, so that messages and control frames are delivered in their order of arrival.
    while session.intake == .work {
      session.workOnce(now: .zero)
      readPieces(framer)
      flush(framer)
    }
    return 1
  }

  private func readPieces(_ framer: ProtocolFramer.Instance) {
    while let piece = session.next(for: reader, now: .zero) {
      incoming.append(contentsOf: piece.bytes)
      guard piece.isFinal else { continue }
      deliver(.init(opcode: piece.kind == .text ? .text : .binary), incoming, framer)
      incoming = Data()
    }
  }

  /// Performs the actions of the session, and writes its output.
  private func flush(_ framer: ProtocolFramer.Instance) {
    var violation = perform(framer)
    while case .bytes(let bytes) = output() {
      framer.writeOutput(data: Data(bytes))
      session.wrote(bytes.count, now: .zero)
      violation = perform(framer) ?? violation
    }
    if let violation {
      fail(
        framer,
        TransportError(
          stage: .response, code: .protocolViolation, message: violation.message,
          hint: "the server does not follow RFC 6455: report it to its owner"))
    }
  }

  private func output() -> WebSocketSession.Output? {
    guard session.hasOutput else { return nil }
    var keys = (0..<2).map { _ in UInt32(truncatingIfNeeded: random.next()) }
    return session.output(keys: &keys)
  }

  private func perform(_ framer: ProtocolFramer.Instance) -> WebSocketViolation? {
    var violation: WebSocketViolation?
    var isAwaited = false
    for action in session.takeActions() {
      switch action {
      case .ponged(let id, _, _):
        isAwaited = true
        pongHandlers.removeValue(forKey: id)?(nil)
      case .receivedPing(let payload):
        if !options.autoReplyPing { deliver(.init(opcode: .ping), Data(payload), framer) }
      case .receivedPong(let payload):
        if !isAwaited { deliver(.init(opcode: .pong), Data(payload), framer) }
      case .receivedClose(let code, let reason):
        isCloseReceived = true
        let metadata = WebSocketProtocol.Metadata(opcode: .close)
        metadata.closeCode = WebSocketCloseCode(rawValue: code ?? 1005)
        deliver(metadata, Data(reason.utf8), framer)
        // Otherwise the server closes the connection (RFC 6455 §7.1.1).
        if isStopping { framer.markFailed(error: nil) }
      case .told(.failed(.violation(let broken))): violation = broken
      case .told, .sent, .refused, .received, .closeStream: break
      }
    }
    return violation
  }

  private func deliver(
    _ metadata: WebSocketProtocol.Metadata, _ data: Data, _ framer: ProtocolFramer.Instance
  ) {
    framer.deliverInput(data: data, message: ProtocolFramer.Message(attachment: metadata), isComplete: true)
  }

  // MARK: output

  /// Sends content. If it cannot be sent it is left unconsumed, which fails the send.
  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    guard !isCloseReceived, !hasFailed else { return }
    let metadata = message.attachment as? WebSocketProtocol.Metadata ?? .init(opcode: .binary)
    _ = framer.parseOutput(minimumIncompleteLength: messageLength, maximumLength: .max) { buffer, _ in
      let payload = buffer.map(Array.init) ?? []
      guard session.canSend, send(metadata, payload, isComplete) else { return 0 }
      flush(framer)
      return payload.count
    }
  }

  private func send(_ metadata: WebSocketProtocol.Metadata, _ payload: [UInt8], _ isComplete: Bool) -> Bool {
    lastID += 1
    switch metadata.opcode {
    case .text, .binary, .cont:
      return sendData(metadata.opcode == .text ? .text : .binary, payload, isComplete)
    case .ping:
      guard payload.count <= 125, isComplete else { return false }
      pongHandlers[lastID] = metadata.takePongHandler()
      session.ping(lastID, payload: payload, now: .zero)
    case .pong:
      guard payload.count <= 125, isComplete else { return false }
      return session.pong(payload)
    case .close:
      guard payload.count <= WebSocketCloseRules.maximumReasonBytes, metadata.closeCode.maySend, isComplete,
        let reason = String(validating: payload, as: UTF8.self)
      else { return false }
      session.close(code: metadata.closeCode.rawValue, reason: reason, now: .zero)
    }
    return true
  }

  private func sendData(_ kind: WebSocketKind, _ payload: [UInt8], _ isComplete: Bool) -> Bool {
    var message = outgoing ?? (lastID, kind, UTF8Validator())
    if message.kind == .text {
      guard payload.withBytes({ message.utf8.consume($0) }), !isComplete || message.utf8.isComplete else {
        return false
      }
    }
    session.send(
      .init(
        id: lastID, message: message.id, kind: message.kind, bytes: payload, isFirst: outgoing == nil,
        isFinal: isComplete))
    outgoing = isComplete ? nil : message
    return true
  }

  // MARK: end

  func stop(framer: ProtocolFramer.Instance) -> Bool {
    guard isOpen, !hasFailed, !isCloseReceived else { return true }
    isStopping = true
    session.close(code: 1000, reason: "", now: .zero)
    flush(framer)
    return false
  }

  func cleanup(framer: ProtocolFramer.Instance) {
    for (_, handler) in pongHandlers.sorted(by: { $0.key < $1.key }) { handler(.posix(.ECANCELED)) }
    pongHandlers = [:]
  }
}
