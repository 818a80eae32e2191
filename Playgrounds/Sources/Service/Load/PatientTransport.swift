// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A transport that measures the deadline of a request with the load's clock instead of the engine's. It has no other
/// time limits.
struct PatientTransport: Transport {
  let base: any Transport
  let time: TimeSource

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    var patient = request
    patient.deadline = nil
    patient.connectTimeout = nil
    patient.idleTimeout = nil
    guard let limit = request.deadline else { return try await base.execute(patient) }
    return try await first(of: patient, limit).get()
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }

  private func first(of request: TransferRequest, _ limit: Duration) async -> Result<TransferResponse, TransportError> {
    await withTaskGroup(of: Result<TransferResponse, TransportError>.self) { group in
      group.addTask {
        do throws(TransportError) {
          return .success(try await base.execute(request))
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        try? await time.limit(limit)
        return .failure(
          TransportError(
            stage: .timeout, code: request.deadlineCode, message: "the server did not answer within \(limit)",
            requestSent: true))
      }
      let result = await group.next()
      group.cancelAll()
      return result ?? .failure(.cancelled())
    }
  }
}
