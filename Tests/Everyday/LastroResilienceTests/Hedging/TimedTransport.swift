// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport

/// A transport whose requests each take a scripted time and have a scripted end.
final class TimedTransport: Transport {
  enum End: Sendable, Hashable {
    case status(Int, retryAfter: Bool = false)
    case fails(FailureStage, FailureCode)
    /// The request lasts until it is cancelled or its deadline passes.
    case hangs
  }

  struct Record: Sendable, Hashable {
    var start: Duration
    /// The end of the request, as ``word(_:)`` describes it; `nil` while the request is under way.
    var end: String?
  }

  private let script: @Sendable (_ number: Int) -> (end: End, after: Duration)
  private let time: TimeSource
  private let state = Lock<[Record]>([])

  var records: [Record] { state.withLock { $0 } }

  init(_ time: TimeSource, _ script: @escaping @Sendable (_ number: Int) -> (end: End, after: Duration)) {
    (self.time, self.script) = (time, script)
  }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let number = state.withLock { records in
      records.append(Record(start: time.now()))
      return records.count - 1
    }
    let result: Result<TransferResponse, TransportError>
    do throws(TransportError) {
      result = .success(try await perform(request, number))
    } catch {
      result = .failure(error)
    }
    state.withLock { $0[number].end = Self.word(result) }
    return try result.get()
  }

  private func perform(_ request: TransferRequest, _ number: Int) async throws(TransportError) -> TransferResponse {
    let (end, after) = script(number)
    let length = end == .hangs ? .seconds(1_000) : after
    do { try await time.limit(min(length, request.deadline ?? length)) } catch { throw .cancelled(requestSent: true) }
    if let deadline = request.deadline, deadline < length {
      throw TransportError(stage: .timeout, code: request.deadlineCode, message: "late", requestSent: true)
    }
    switch end {
    case .hangs: throw TransportError(stage: .response, code: .connectionLost, message: "", requestSent: true)
    case .fails(let stage, let code):
      throw TransportError(stage: stage, code: code, message: "", requestSent: stage != .connect)
    case .status(let code, let asks):
      let body = ResponseBody(Data("try \(number)".utf8))
      return TransferResponse(
        head: HTTPResponse(status: .init(code: code), headerFields: asks ? [.retryAfter: "1"] : [:]), body: body)
    }
  }

  static func word(_ result: Result<TransferResponse, TransportError>) -> String {
    switch result {
    case .success(let answer):
      "\(answer.head.status.code) \(String(decoding: answer.body.bytes ?? Data(), as: UTF8.self))"
    case .failure(let error): "\(error.stage.rawValue)/\(error.code)"
    }
  }
}
