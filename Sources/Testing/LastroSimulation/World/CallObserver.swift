// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

/// Records the calls of a stack in the trace of its simulation, and marks their requests, so that servers recognize
/// requests of the same call.
final class CallObserver: FetchObserver, @unchecked Sendable {
  // Sendable because all tasks of a simulation run on one thread.

  /// The field that marks requests. Servers remove it.
  static let mark = "Lastro-Simulated-Call"

  private let machine: MachineCore
  private let owner: Scheduler.Owner
  private let world: WorldCore
  /// The indices of running calls in the trace, by their identifiers.
  private var calls: [UInt64: Int] = [:]

  init(of machine: MachineCore, _ owner: Scheduler.Owner, _ world: WorldCore) {
    self.machine = machine
    self.owner = owner
    self.world = world
  }

  func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: calls[event.callID] = world.startCall(on: machine, operation: event.operation)
    case .transferStarted(let request):
      if let call = calls[event.callID] { world.setRequest(request.head, ofCall: call) }
    case .callEnded(let outcome):
      guard let call = calls[event.callID] else { return }
      calls[event.callID] = nil
      switch outcome {
      case .success(let response): world.endCall(call, status: response.status.code, failure: nil)
      case .failure(let error): world.endCall(call, status: error.statusCode?.code, failure: "\(error)")
      }
    default: break
    }
  }

  func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields {
    guard let call = calls[callID], let name = HTTPField.Name(Self.mark) else { return [:] }
    return [name: "\(call)"]
  }
}
