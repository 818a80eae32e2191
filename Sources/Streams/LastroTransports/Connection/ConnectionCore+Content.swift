// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Lastro

/// Sending and receiving; all of it runs on `work`.
extension ConnectionCore {
  /// The number of bytes that are read ahead of receives.
  static let readAhead = 65_536

  /// The overhead that is charged for a queued send, so that the number of empty sends is bounded too.
  static let sendWeight = 128

  // MARK: receiving

  func take(_ request: ReceiveRequest) {
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
    // If the server reads nothing, stop reading: otherwise framers would queue responses without bound.
    guard isOpen, !isReading, !hasReadEnd, let carrier, outboxBytes <= parameters.maximumQueuedBytes else { return }
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
    case .success(let data?): take(data)
    case .success(nil):
      hasReadEnd = true
      if let pipeline {
        pipeline.receiveEnd()
        handleEvents()
        if case .stopping = phase { hasStopped = true }
      } else {
        inbox.append(Data(), .defaultStream, isComplete: true)
        inbox.finish()
      }
      serve()
      concludeIfThrough()
    }
  }

  private func take(_ data: Data) {
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

  func take(_ content: OutgoingContent) {
    switch phase {
    case .failed(let error): return tell(content.completion, error)
    case .stopping, .over: return tell(content.completion, .posix(.ECANCELED))
    case .idle, .dialing, .handshaking, .ready: break
    }
    guard outboxBytes < parameters.maximumQueuedBytes else { return tell(content.completion, .posix(.ENOBUFS)) }
    // A final message ends the outgoing direction: nothing can follow it.
    guard !hasSentFinal else { return tell(content.completion, .posix(.EPIPE)) }
    hasSentFinal = content.isComplete && content.context.isFinal
    if case .ready = phase { return encode(content) }
    // Keep the content out of the outbox: framers get no content before the connection is ready, and their own output
    // goes first.
    outboxBytes += Self.sendWeight + (content.data?.count ?? 0)
    early.append(content)
  }

  /// Sends the content that was queued until the connection became ready.
  func sendEarly() {
    // Encoding can lead back to this method: the next content must not overtake the current one.
    guard case .ready = phase, !isSendingEarly else { return }
    isSendingEarly = true
    defer { isSendingEarly = false }
    while let content = early.popFirst() {
      outboxBytes -= Self.sendWeight + (content.data?.count ?? 0)
      encode(content)
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
      if let data = content.data, !data.isEmpty || isDatagrams { queue(data) }
      queue(endOf: content)
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
    queue(endOf: content)
  }

  private func queue(endOf content: OutgoingContent) {
    if content.isComplete, content.context.isFinal, !isDatagrams { outbox.append(.finish) }
    outbox.append(.done(content.completion))
    outboxBytes += Self.sendWeight
  }

  private var isDatagrams: Bool {
    if case .datagrams = carrier { true } else { false }
  }

  private func queue(_ data: Data) {
    outbox.append(.bytes(data))
    outboxBytes += data.count
  }

  func writeOn() {
    while isOpen, !isWriting, let carrier, let next = outbox.popFirst() {
      switch next {
      case .done(let completion):
        // The bytes before this entry were accepted.
        outboxBytes = max(0, outboxBytes - Self.sendWeight)
        tell(completion, datagramError)
        datagramError = nil
      case .bytes(let data):
        isWriting = true
        Task {
          let error = await carrier.write(data)
          self.work.async { self.didWrite(data.count, error) }
        }
      case .finish:
        isWriting = true
        Task {
          let error = await carrier.finish()
          self.work.async { self.didWrite(0, error) }
        }
      }
    }
  }

  private func didWrite(_ count: Int, _ error: TransportError?) {
    isWriting = false
    outboxBytes = max(0, outboxBytes - count)
    guard isOpen else { return }
    if let error {
      // A datagram that cannot be sent does not affect the next one.
      guard isDatagrams, error.code != .streamClosed else { return fail(ConnectionError(error)) }
      datagramError = ConnectionError(error)
    }
    writeOn()
    concludeIfThrough()
    // Reading may have paused until the outbox had room.
    readOn()
  }

  func failSends(_ error: ConnectionError) {
    outboxBytes = 0
    while let next = outbox.popFirst() {
      if case .done(let completion) = next { tell(completion, error) }
    }
    while let content = early.popFirst() { tell(content.completion, error) }
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
    // Send early content only now: the framers' earlier output goes first.
    sendEarly()
    writeOn()
  }

  private func handle(_ event: FramerPipeline.Event) {
    switch event {
    case .write(let data): if isOpen { queue(data) }
    case .ready: becomeReady()
    case .deliver(let delivery):
      inbox.append(
        delivery.data, ConnectionContentContext(identifier: "message", metadata: delivery.metadata),
        isComplete: delivery.isComplete)
    case .end: inbox.finish()
    case .wakeup(let layer, let duration): wake(layer, after: duration)
    case .finished: finishFraming()
    case .failed(let error): fail(error)
    }
  }

  private func finishFraming() {
    if case .stopping = phase {
      hasStopped = true
      return concludeIfThrough()
    }
    guard isOpen else { return }
    guard case .ready = phase else { return fail(ConnectionError(.endedInHandshake("stack"))) }
    hasReadEnd = true
    inbox.finish()
    if !hasSentFinal {
      hasSentFinal = true
      outbox.append(.finish)
    }
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
    guard isOpen, let pipeline, alarms.take(layer, number: number) else { return }
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

  fileprivate func finish() async -> TransportError? {
    guard case .stream(let stream) = self else { return nil }
    do throws(TransportError) {
      try await stream.finishWriting()
      return nil
    } catch {
      return error
    }
  }
}
