// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import Synchronization

/// The state that all calls of a stack share.
final class StackCore: Sendable {
  /// The transport that the stack was made with, which is taped if calls are recorded.
  let base: any Transport
  /// The transport and the configuration as they were given.
  private let given: (transport: any Transport, configuration: StackConfiguration)
  /// The same transport, wrapped in the layers of the stack.
  private let transport: any Transport
  let configuration: StackConfiguration
  let interceptors: InterceptorChain
  /// Whether the limits of the configuration are valid, so that only those of a call must be checked.
  let hasMeaningfulLimits: Bool
  /// The defaults that are added to requests, or the reason why they cannot be added.
  private let defaults: Result<StackDefaults?, TransportError>
  private let coders: JSONCoders?
  /// Whether another core has replaced this one. Calls of a stack that is never reconfigured take no lock.
  private let isReplaced = Atomic(false)
  private let replacement = Lock<StackCore?>(nil)

  init(transport: any Transport, configuration: StackConfiguration) {
    given = (transport, configuration)
    base = configuration.recorder == nil ? transport : TapedTransport(base: transport)
    self.transport = configuration.layered(base)
    self.configuration = configuration.recorded
    interceptors = InterceptorChain(configuration.interceptors)
    hasMeaningfulLimits =
      (try? configuration.checkLimits()) != nil && (try? configuration.timeouts.check()) != nil
      && (try? configuration.streamTimeouts.check()) != nil
    defaults = Result { () throws(TransportError) in try StackDefaults(configuration) }
    let coders = JSONCoders(encoder: configuration.jsonEncoder, decoder: configuration.jsonDecoder)
    self.coders = coders.encoder == nil && coders.decoder == nil ? nil : coders
    if self.coders != nil { JSONCoders.areUsed.store(true, ordering: .relaxed) }
    for user in [transport] as [Any] + configuration.interceptors {
      (user as? any ClockUser)?.adopt(clock: configuration.timeSource)
    }
  }

  /// The core for calls that begin now.
  var current: StackCore {
    guard isReplaced.load(ordering: .acquiring) else { return self }
    return replacement.withLock { $0 } ?? self
  }

  /// Replaces the core for calls that begin from now on. Calls under way keep the one that they began with.
  ///
  /// - Parameter change: edits the configuration. It runs again if another thread has replaced the core meanwhile.
  /// - Throws: an error for a configuration that would fail every call. Nothing is replaced.
  func reconfigure(_ change: (inout StackConfiguration) -> Void) throws(ConfigurationError) {
    while true {
      let old = replacement.withLock { $0 } ?? self
      var configuration = old.given.configuration
      change(&configuration)
      try configuration.check()
      let new = StackCore(transport: given.transport, configuration: configuration)
      let isNewest = replacement.withLock { newest in
        guard newest === old || newest == nil && old === self else { return false }
        newest = new
        return true
      }
      if isNewest { return isReplaced.store(true, ordering: .releasing) }
    }
  }

  /// Returns the transport for a request, with the layers that the request requires in addition to those of the stack.
  func transport(for request: TransferRequest) -> any Transport {
    let uses = request.layerUses
    guard !uses.isEmpty else { return transport }
    var layers = configuration.layers
    var hasMore = false
    // Telemetry does not have a layer.
    for place in TransportLayerPlace.allCases where place != .telemetry {
      if let use = uses[place] as? any TransportLayerUse, use.complete(&layers) { hasMore = true }
    }
    guard hasMore else { return transport }
    var configuration = configuration
    configuration.layers = layers
    return configuration.layered(base)
  }

  /// Adds the stack's defaults to a request that a resource made.
  func complete(
    _ request: inout ResourceRequest, by making: BaseRequestMaking<ResourceRequest>
  ) throws(TransportError) {
    if let defaults = try defaults.get() { try defaults.complete(&request, madeOf: making.base?()) }
    if let error = StackDefaults.lacksBase(request) { throw error }
  }

  /// Runs `body` with the stack's JSON coders.
  func coding<Value>(_ body: () throws -> Value) rethrows -> Value {
    // If a hook of another stack uses this one, that stack's coders must not apply here.
    guard coders != nil || JSONCoders.areOthers else { return try body() }
    return try JSONCoders.$current.withValue(coders) { try body() }
  }

  /// Runs an asynchronous `body` with the stack's JSON coders.
  func coding<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
    guard coders != nil || JSONCoders.areOthers else { return try await body() }
    return try await JSONCoders.$current.withValue(coders) { try await body() }
  }
}

extension StackConfiguration {
  /// The configuration with its recorder among the observers, and with sources of time and randomness that are
  /// recorded.
  fileprivate var recorded: Self {
    let isObserved = observers.contains { ($0 as? RecordingObserver)?.recorder === recorder }
    guard let recorder, !isObserved else { return self }
    var result = self
    result.observers.append(RecordingObserver(recorder: recorder))
    result.timeSource = timeSource.recording
    result.randomSource = randomSource.recording
    return result
  }

  /// Refuses values that would fail every call.
  ///
  /// - Throws: `ConfigurationError` that names the value.
  fileprivate func check() throws(ConfigurationError) {
    do throws(TransportError) {
      try checkLimits()
      try timeouts.check()
      try streamTimeouts.check()
      _ = try StackDefaults(self)
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }
}
