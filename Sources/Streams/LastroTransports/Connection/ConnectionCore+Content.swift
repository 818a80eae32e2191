// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Lastro

/// Sending and receiving; all of it runs on `work`.
extension ConnectionCore {
  /// The number of bytes that are read ahead of receives.
  static let readAhead = 65_536

  // MARK: receiving

  func enqueueReceive(_ request: ReceiveRequest) {
    if let problem = request.problem(limit: parameters.maximumMessageBytes) {
      return tell([ReceiveAnswer(completion: request.completion, error: problem)])
    }
    inbox.add(request)
    serve()
  }

  /// Serves pending receives as far as content is available, and continues reading.
  func serve() {
    while let answer = inbox.nextAnswer() { tell([answer]) }
    readOn()
  }

  func tell(_ answers: [ReceiveAnswer]) {
    for answer in answers { callbacks.async { answer.tell() } }
  }

  private var isOpen: Bool {
    switch phase {
    case .handshaking, .ready, .stopping: true
    case .idle, .dialing, .failed, .over: false
    }
  }

  private var isStopping: Bool {
    if case .stopping = phase { true } else { false }
  }

  private func readOn() {
    guard isOpen, !isReading, !hasReadEnd, let carrier, !outbox.isOverfull else { return }
    guard inbox.isAwaited || inbox.weight < Self.readAhead else { return }
    isReading = true
    // A pending receive may require more bytes than the read-ahead limit.
    let length = inbox.isAwaited ? Self.readAhead : max(1, Self.readAhead - inbox.weight)
    Task {
      let result = await carrier.read(upTo: length)
      self.work.async { self.didRead(result) }
    }
  }

  private func didRead(_ result: Result<Data?, TransportError>) {
    isReading = false
    guard isOpen else { return }
    // A framer ended the stream cleanly during this read, so a late error does not matter.
    if hasReadEnd, !isStopping { return }
    switch result {
    case .failure(let error): didFailToRead(error)
    case .success(let data?): handleReceived(data)
    case .success(nil):
      hasReadEnd = true
      if let pipeline {
        pipeline.receiveEnd()
        handleEvents()
        if case .stopping = phase { phase = .stopping(isThrough: true) }
      } else {
        inbox.append(Data(), .defaultStream, isComplete: true)
        inbox.markEnd()
      }
      serve()
      concludeIfThrough()
    }
  }

  private func handleReceived(_ data: Data) {
    switch carrier {
    case .datagrams: inbox.append(data, .defaultMessage, isComplete: true)
    case .stream:
      if let pipeline {
        pipeline.receive(data)
        handleEvents()
      } else {
        inbox.append(data, .defaultStream, isComplete: false)
      }
    case nil: return
    }
    serve()
  }

  private func didFailToRead(_ error: TransportError) {
    // An ICMP error for one datagram, which any host can forge, does not end the connection.
    if case .datagrams = carrier, error.code == .connectFailed {
      if let answer = inbox.failNext(ConnectionError(error)) { tell([answer]) }
      return serve()
    }
    fail(ConnectionError(error))
  }

  // MARK: sending

  func sendOrHold(_ content: OutgoingContent) {
    switch phase {
    case .failed(let error): return tell(content.completion, error)
    case .stopping, .over: return tell(content.completion, .posix(.ECANCELED))
    case .idle, .dialing, .handshaking, .ready: break
    }
    if let refusal = outbox.admit(content) { return tell(content.completion, refusal) }
    if case .ready = phase { encode(content) } else { outbox.hold(content) }
  }

  /// Sends the content that was held until the connection became ready.
  func sendHeld() {
    while case .ready = phase, let content = outbox.takeHeld() {
      encode(content)
      outbox.didEncodeHeld()
    }
  }

  private func encode(_ content: OutgoingContent) {
    guard case .ready = phase else { return tell(content.completion, .posix(.ECANCELED)) }
    if let pipeline {
      // An end without content or metadata is not a message.
      if content.data != nil || !content.context.protocolMetadata.isEmpty {
        let failure = pipeline.send(content.data ?? Data(), content.context, isComplete: content.isComplete)
        if let failure {
          handleEvents()
          return tell(content.completion, failure)
        }
      }
      queue(handleEvents: content)
    } else {
      if let data = content.data, !data.isEmpty || isDatagrams { outbox.append(data) }
      outbox.append(endOf: content, mayFinish: !isDatagrams)
    }
    writeOn()
  }

  private func queue(handleEvents content: OutgoingContent) {
    // The framers' bytes are in the events, and precede the completion.
    handleEvents()
    guard case .ready = phase else {
      if case .failed(let error) = phase { return tell(content.completion, error) }
      return tell(content.completion, .posix(.ECANCELED))
    }
    outbox.append(endOf: content, mayFinish: !isDatagrams)
  }

  private var isDatagrams: Bool {
    if case .datagrams = carrier { true } else { false }
  }

  func writeOn() {
    while isOpen, let carrier, let step = outbox.next() {
      switch step {
      case .complete(let completion, let error): tell(completion, error)
      case .write(let data):
        Task {
          let error = await carrier.write(data)
          self.work.async { self.didWrite(data.count, error) }
        }
      case .finish:
        Task {
          let error = await carrier.finishWriting()
          self.work.async { self.didWrite(0, error) }
        }
      }
    }
  }

  private func didWrite(_ count: Int, _ error: TransportError?) {
    outbox.wrote(count)
    guard isOpen else { return }
    if let error {
      guard isDatagrams, error.code != .streamClosed else { return fail(ConnectionError(error)) }
      outbox.datagramFailed(ConnectionError(error))
    }
    writeOn()
    concludeIfThrough()
    // Reading may have paused until the outbox had room.
    readOn()
  }

  func failSends(_ error: ConnectionError) {
    for completion in outbox.clear() { tell(completion, error) }
  }

  private func tell(_ completion: ConnectionSendCompletion, _ error: ConnectionError?) {
    guard case .contentProcessed(let handler) = completion else { return }
    callbacks.async { handler(error) }
  }

  // MARK: framers

  /// Handles the events of the framers.
  func handleEvents() {
    while let events = pipeline?.takeEvents(), !events.isEmpty {
      for event in events { handle(event) }
    }
    // Send held content only now: the framers' earlier output goes first.
    sendHeld()
    writeOn()
  }

  private func handle(_ event: FramerPipeline.Event) {
    switch event {
    case .write(let data): if isOpen { outbox.append(data) }
    case .ready: becomeReady()
    case .deliver(let delivery):
      inbox.append(
        delivery.data, ConnectionContentContext(identifier: "message", metadata: delivery.metadata),
        isComplete: delivery.isComplete)
    case .end: inbox.markEnd()
    case .wakeup(let layer, let duration): wake(layer, after: duration)
    case .finished: finishFraming()
    case .failed(let error): fail(error)
    }
  }

  private func finishFraming() {
    if case .stopping = phase {
      phase = .stopping(isThrough: true)
      return concludeIfThrough()
    }
    guard isOpen else { return }
    guard case .ready = phase else { return fail(ConnectionError(.endedInHandshake("stack"))) }
    hasReadEnd = true
    inbox.markEnd()
    outbox.queueEnd()
    serve()
  }

  private func wake(_ layer: ObjectIdentifier, after duration: Duration?) {
    guard let duration, isOpen else { return alarms.cancel(layer) }
    let time = parameters.time
    alarms.set(layer) { number in
      Task { [weak self] in
        do { try await time.sleep(duration) } catch { return }
        guard let self else { return }
        work.async { self.wakeUp(layer, number) }
      }
    }
  }

  private func wakeUp(_ layer: ObjectIdentifier, _ number: Int) {
    guard isOpen, let pipeline, alarms.removeWakeup(of: layer, number: number) else { return }
    pipeline.wakeup(layer)
    handleEvents()
    serve()
    concludeIfThrough()
  }
}

extension ConnectionCore.Carrier {
  fileprivate func read(upTo maximum: Int) async -> Result<Data?, TransportError> {
    do throws(TransportError) {
      switch self {
      case .stream(let stream): return .success(try await stream.read(upTo: maximum))
      case .datagrams(let stream): return .success(try await stream.receive())
      }
    } catch {
      return .failure(error)
    }
  }

  fileprivate func write(_ data: Data) async -> TransportError? {
    do throws(TransportError) {
      switch self {
      case .stream(let stream): try await stream.write(data)
      case .datagrams(let stream): try await stream.send(data)
      }
      return nil
    } catch {
      return error
    }
  }

  fileprivate func finishWriting() async -> TransportError? {
    guard case .stream(let stream) = self else { return nil }
    do throws(TransportError) {
      try await stream.finishWriting()
      return nil
    } catch {
      return error
    }
  }
}
