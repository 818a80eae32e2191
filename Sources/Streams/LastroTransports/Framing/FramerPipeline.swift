// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import Logging

/// A stack of framers: bytes and messages go in, events come out. It neither waits nor reads a clock. Its driver calls
/// one method at a time, and takes the events after each call.
final class FramerPipeline {
  enum Event {
    /// Bytes for the stream below.
    case write(Data)
    /// Every framer is ready. Sent once.
    case ready
    /// Content for the application.
    case deliver(FramerDelivery)
    /// The stream has ended, and everything was delivered. Sent once.
    case end
    /// Call ``FramerPipeline/wakeup(_:)`` after the time; `nil` cancels an earlier request.
    case wakeup(ObjectIdentifier, Duration?)
    /// A framer requests a clean end, or has finished stopping.
    case finished
    /// The pipeline failed. Sent once; only the cleanup may follow.
    case failed(ConnectionError)
  }

  typealias Layer = ProtocolFramer.Instance

  /// The framers, starting with the one nearest to the application.
  private var layers: [Layer] = []
  private var events: [Event] = []
  private let remote: ConnectionEndpoint?
  private let parameters: ConnectionParameters
  private let logger: Logger?
  private var isReady = false
  private var isDead = false
  private var isStopping = false
  /// Whether some framers have not been asked to stop yet.
  private var isAskingToStop = false
  private var hasEnded = false
  private var isMessageOpen = false
  /// The framers that need time to stop.
  private var stopping: Set<ObjectIdentifier> = []

  /// Creates the framers; nothing is written yet.
  init(_ protocols: [any ProtocolOptions], remote: ConnectionEndpoint?, parameters: ConnectionParameters)
    throws(ConnectionError)
  {
    self.remote = remote
    self.parameters = parameters
    logger = parameters.logger
    for options in protocols { layers.append(try makeLayer(options)) }
  }

  private func makeLayer(_ options: any ProtocolOptions) throws(ConnectionError) -> Layer {
    guard let implementation = options.definition.implementation else {
      throw .framer(ProtocolFramer.Failure(label: options.definition.name, reason: .notAFramer))
    }
    let layer = Layer(
      options: options, implementation: implementation, remote: remote, parameters: parameters)
    layer.framer = implementation.init(framer: layer)
    return layer
  }

  /// Returns the events since the last call.
  func takeEvents() -> [Event] {
    defer { events = [] }
    return events
  }

  // MARK: start and end

  /// Starts the framers: the stream below is ready.
  func start() {
    startNext()
    pump()
  }

  private func startNext() {
    while !isDead, !isReady {
      guard let layer = layers.last(where: { $0.phase != .ready }) else {
        isReady = true
        events.append(.ready)
        return
      }
      guard layer.phase == .made, let framer = layer.framer else { return }
      layer.phase = .starting
      if framer.start(framer: layer) == .ready, layer.phase == .starting { layer.phase = .ready }
      absorb(layer)
    }
  }

  /// Wakes a framer at the time requested by ``Event/wakeup(_:_:)``.
  func wakeup(_ id: ObjectIdentifier) {
    guard !isDead, let layer = layers.first(where: { ObjectIdentifier($0) == id }), let framer = layer.framer else {
      return
    }
    framer.wakeup(framer: layer)
    absorb(layer)
    startNext()
    pump()
  }

  /// Asks every framer to stop, starting with the one nearest to the application. Returns whether all have stopped;
  /// otherwise ``Event/finished`` reports it later.
  func stop() -> Bool {
    guard !isStopping, !isDead else { return true }
    isStopping = true
    isAskingToStop = true
    defer { isAskingToStop = false }
    for layer in layers where layer.phase == .starting || layer.phase == .ready {
      guard let framer = layer.framer, !isDead else { continue }
      if !framer.stop(framer: layer), !layer.isFinished { stopping.insert(ObjectIdentifier(layer)) }
      absorb(layer)
    }
    return stopping.isEmpty
  }

  /// Cleans up every framer, once; later calls of other methods have no effect.
  func cleanUp() {
    isDead = true
    let gone = layers
    layers = []
    for layer in gone {
      layer.phase = .stopped
      layer.framer?.cleanup(framer: layer)
      layer.framer = nil
    }
  }

  private func fail(_ error: ConnectionError) {
    guard !isDead else { return }
    isDead = true
    events.append(.failed(error))
  }

  /// Handles the effects of a call to a framer.
  private func absorb(_ layer: Layer, metadata: [any ProtocolMetadata] = [], isComplete: Bool = true) {
    if !layer.output.written.isEmpty {
      let written = layer.output.written
      layer.output.written = Data()
      sendDown(below: layer, written, metadata, isComplete)
    }
    if let time = layer.wakeup {
      layer.wakeup = nil
      events.append(.wakeup(ObjectIdentifier(layer), time.duration))
    }
    prepend(above: layer)
    let isFinished = layer.isFinished
    layer.isFinished = false
    // Pass on earlier deliveries before the end.
    if isFinished || layer.failure != nil { drain(layer) }
    if let failure = layer.failure { return fail(failure) }
    guard isFinished else { return }
    stopping.remove(ObjectIdentifier(layer))
    if !isStopping || stopping.isEmpty && !isAskingToStop { events.append(.finished) }
  }

  private func prepend(above layer: Layer) {
    let prepended = layer.prepended
    layer.prepended = []
    for options in prepended {
      guard let index = layers.firstIndex(where: { $0 === layer }) else { return }
      do throws(ConnectionError) {
        layers.insert(try makeLayer(options), at: index)
      } catch {
        fail(error)
      }
    }
  }

  // MARK: output

  /// Sends content of the application. Returns an error that fails only this send.
  func send(_ data: Data, _ context: ConnectionContentContext, isComplete: Bool) -> ConnectionError? {
    guard !isDead, let top = layers.first else { return .posix(.ENOTCONN) }
    let failure = output(top, data, context.protocolMetadata, isComplete)
    pump()
    return failure
  }

  @discardableResult
  private func output(
    _ layer: Layer, _ data: Data, _ metadata: [any ProtocolMetadata], _ isComplete: Bool
  ) -> ConnectionError? {
    guard !isDead, let framer = layer.framer else { return .posix(.ENOTCONN) }
    if layer.passesOutput {
      sendDown(below: layer, data, metadata, isComplete)
      return nil
    }
    layer.output.message = FramerBuffer()
    layer.output.message.append(data)
    layer.output.isComplete = isComplete
    framer.handleOutput(
      framer: layer, message: message(for: layer, in: metadata), messageLength: data.count, isComplete: isComplete)
    let left = layer.output.message.count
    layer.output.message = FramerBuffer()
    let hasFailed = layer.failure != nil
    absorb(layer, metadata: metadata, isComplete: isComplete)
    guard left > 0, !hasFailed else { return nil }
    return .framer(ProtocolFramer.Failure(label: layer.label, reason: .unconsumedOutput(bytes: left)))
  }

  private func message(for layer: Layer, in metadata: [any ProtocolMetadata]) -> ProtocolFramer.Message {
    guard let found = metadata.first(where: { $0.definition == layer.definition }) else {
      return ProtocolFramer.Message(definition: layer.definition)
    }
    return found as? ProtocolFramer.Message ?? ProtocolFramer.Message(attachment: found)
  }

  private func sendDown(below layer: Layer, _ data: Data, _ metadata: [any ProtocolMetadata], _ isComplete: Bool) {
    guard let index = layers.firstIndex(where: { $0 === layer }) else { return }
    if index + 1 == layers.count {
      if !data.isEmpty { events.append(.write(data)) }
    } else if let failure = output(layers[index + 1], data, metadata, isComplete) {
      fail(failure)
    }
  }

  // MARK: input

  /// Processes bytes from the stream below.
  func receive(_ data: Data) {
    guard !isDead, let bottom = layers.last else { return }
    feed(bottom, FramerDelivery(data: data, metadata: [], isComplete: false))
    pump()
  }

  /// Processes the end of the stream below.
  func receiveEnd() {
    guard !isDead, let bottom = layers.last else { return }
    bottom.input.hasEnded = true
    pump()
  }

  private func feed(_ layer: Layer, _ delivery: FramerDelivery) {
    if layer.passesInput, !layer.input.isDelivering, layer.input.bytes.count == 0 {
      layer.input.deliveries.append(delivery)
      layer.input.isPassedOpen = !delivery.isComplete
      return
    }
    layer.input.metadata = delivery.metadata
    layer.input.bytes.append(delivery.data)
    if layer.phase == .made, layer.input.bytes.count > layer.input.limit {
      fail(.framer(ProtocolFramer.Failure(label: layer.label, reason: .bufferFull(limit: layer.input.limit))))
    }
  }

  /// Runs framers until none can make progress, starting with the one nearest to the application, so that delivered
  /// content is processed before more is read.
  private func pump() {
    var didSomething = true
    while !isDead, didSomething {
      // Iterate over a copy: a framer may insert another above itself.
      let all = layers
      didSomething = all.contains { step($0) }
    }
  }

  /// Runs one layer; returns whether it made progress.
  private func step(_ layer: Layer) -> Bool {
    if moveUp(layer) { return true }
    guard !isDead, layer.phase == .starting || layer.phase == .ready else { return false }
    if layer.input.isDelivering { return continueDelivery(layer) }
    if layer.passesInput { return passThrough(layer) }
    guard !layer.input.isSpent else { return false }
    let available = layer.input.bytes.count
    if layer.input.hasEnded {
      ask(layer, available, atEnd: true)
      return true
    }
    guard available > 0, available >= layer.input.needed else { return false }
    ask(layer, available, atEnd: false)
    return true
  }

  private func ask(_ layer: Layer, _ available: Int, atEnd: Bool) {
    guard let framer = layer.framer else { return }
    let phase = layer.phase
    let needed = max(0, framer.handleInput(framer: layer))
    logger?.trace(
      "framer waits for input",
      metadata: ["label": "\(layer.label)", "needed": "\(needed)", "available": "\(layer.input.bytes.count)"])
    let left = layer.input.bytes.count
    layer.input.needed = needed
    if layer.failure == nil, !layer.input.isDelivering, !layer.passesInput {
      let hasMoved = left < available || layer.phase != phase
      if atEnd {
        if left == 0 || !hasMoved { layer.input.isSpent = true }
        if left > 0, !hasMoved { layer.fail(.incompleteInput(needed: needed, available: left)) }
      } else if !hasMoved, needed <= left {
        layer.fail(.noProgress(needed: needed, available: left))
      } else if needed > layer.input.limit {
        layer.fail(.needTooLarge(needed: needed, limit: layer.input.limit))
      }
    }
    absorb(layer)
    startNext()
  }

  private func drain(_ layer: Layer) {
    guard moveUp(layer), let index = layers.firstIndex(where: { $0 === layer }) else { return }
    let above = layers[..<index]
    while !isDead, above.contains(where: { step($0) }) {}
  }

  private func continueDelivery(_ layer: Layer) -> Bool {
    layer.input.pass()
    if moveUp(layer) { return true }
    guard layer.input.hasEnded, let passing = layer.input.passing else { return false }
    layer.fail(.incompleteMessage(missing: passing.remaining))
    absorb(layer)
    return false
  }

  private func passThrough(_ layer: Layer) -> Bool {
    let count = layer.input.bytes.count
    if let rest = layer.input.bytes.take(count), count > 0 {
      layer.input.deliveries.append(
        FramerDelivery(data: rest, metadata: layer.input.metadata, isComplete: false))
      layer.input.isPassedOpen = true
      return true
    }
    guard layer.input.hasEnded, !layer.input.isSpent else { return false }
    layer.input.isSpent = true
    if layer.input.isPassedOpen {
      layer.input.deliveries.append(
        FramerDelivery(data: Data(), metadata: layer.input.metadata, isComplete: true))
    }
    return true
  }

  /// Passes on the deliveries of a layer, and its end. Returns whether there was anything to pass on.
  private func moveUp(_ layer: Layer) -> Bool {
    guard let index = layers.firstIndex(where: { $0 === layer }) else { return false }
    let deliveries = layer.input.deliveries
    layer.input.deliveries = []
    for delivery in deliveries {
      if index == 0 { deliver(delivery) } else { feed(layers[index - 1], delivery) }
    }
    guard layer.input.isSpent, !layer.input.hasToldEnd, layer.failure == nil else { return !deliveries.isEmpty }
    guard layer.phase == .ready else { return failUnready(layer) }
    layer.input.hasToldEnd = true
    if index == 0 { deliverEnd() } else { layers[index - 1].input.hasEnded = true }
    return true
  }

  private func failUnready(_ layer: Layer) -> Bool {
    fail(.posix(.init(ConnectionError.Code.ECONNRESET.rawValue, cause: .endedInHandshake(layer.label))))
    return false
  }

  private func deliver(_ delivery: FramerDelivery) {
    isMessageOpen = !delivery.isComplete
    events.append(.deliver(delivery))
  }

  private func deliverEnd() {
    guard !hasEnded else { return }
    hasEnded = true
    if isMessageOpen, let top = layers.first {
      fail(.framer(ProtocolFramer.Failure(label: top.label, reason: .incompleteMessage(missing: nil))))
    } else {
      events.append(.end)
    }
  }
}

extension ProtocolFramer.WakeupTime {
  var duration: Duration? {
    switch self {
    case .milliseconds(let count): .milliseconds(Int64(clamping: count))
    case .forever: nil
    }
  }
}

extension TransportError {
  static func endedInHandshake(_ label: String) -> Self {
    Self(
      stage: .connect, code: .connectionLost,
      message: "the stream ended before the handshake of framer \(label) was done",
      hint: "the server may not speak this protocol: check host and port", requestSent: true)
  }
}
