// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Performs what the machine of an upload decides.
struct UploadRun<Model: Sendable, APIError: Error> {
  typealias Failure = HTTPFetchError<APIError>

  let stack: any HTTPNetworkStack
  let resource: HTTPResource<Model, APIError>
  let options: UploadOptions
  let file: any OpenFile
  let status: FileStatus
  /// URL of the resource's request.
  let base: String
  private let dialect: UploadProtocol
  private var machine: UploadMachine
  private let progress: TransferProgressReporter.Transfer?
  /// Where the upload is: an interim answer may say so on another thread.
  private let upload = Lock<String?>(nil)
  private var isTold = false
  private var failure: Failure?
  private var response: ResourceResponse?
  private var requests = 0
  private var losses: LossWait
  /// Where the upload is to be made, where the server sent it elsewhere than the resource says.
  private var moved: String?
  /// Those that get credentials.
  private var origins: Set<Origin>

  init(
    _ resource: HTTPResource<Model, APIError>, by stack: any HTTPNetworkStack, of file: any OpenFile,
    _ status: FileStatus, base: ResourceRequest, options: UploadOptions
  ) {
    self.stack = stack
    self.resource = resource
    self.options = options
    self.file = file
    self.status = status
    self.base = base.url
    dialect = options.uploadProtocol
    progress = options.progress?.beginTransfer(totalBytesToSend: status.length)
    machine = UploadMachine(
      .init(
        dialect: dialect, length: status.length,
        sendsAtOnce: dialect == .draft && options.strategy == .optimistic, bytesPerAppend: options.bytesPerAppend))
    losses = LossWait(options.retries, options.timeSource)
    origins = options.credentialOrigins.union(Origin(base.head).map { [$0] } ?? [])
  }

  /// - Parameter token: an earlier upload.
  mutating func run(_ token: UploadToken?) async throws(Failure) -> UploadedFile {
    if let token { upload.withLock { $0 = token.url } }
    isTold = token != nil
    var pending = machine.handle(.begun(hasURL: token != nil))[...]
    while let action = pending.popFirst() {
      if let event = try await perform(action) { pending += machine.handle(event) }
    }
    guard let response else { throw ended(by: .cancelled(requestSent: requests > 0)) }
    return UploadedFile(
      url: upload.withLock { $0 }, length: status.length, resumedFrom: machine.resumedFrom, requests: requests,
      response: response)
  }

  private mutating func perform(_ action: UploadMachine.Action) async throws(Failure) -> UploadMachine.Event? {
    switch action {
    case .create(let sendsAll):
      let content = sendsAll ? part(from: 0, count: status.length) : nil
      let (dialect, length, metadata) = (dialect, status.length, options.metadata)
      return await send { (request) throws(TransportError) in
        try dialect.create(&request, length: length, metadata: metadata, content: content)
      }
    case .probe:
      let dialect = dialect
      return await send { (request) throws(TransportError) in try dialect.probe(&request) }
    case .append(let from, let count, let isLast):
      let (dialect, content) = (dialect, part(from: from, count: count))
      return await send { (request) throws(TransportError) in
        try dialect.append(&request, from: from, isLast: isLast, content: content)
      }
    case .wait(let fruitless): return try await wait(fruitless)
    case .done:
      progress?.report(sent: status.length)
      return nil
    case .fail(let reason): throw error(for: reason)
    }
  }

  private func part(from: Int64, count: Int64) -> RequestBody {
    FilePart(file: file, from: from, count: count, progress: progress).body
  }

  private func ended(by error: TransportError) -> Failure {
    Failure(.transport(error), response: response, attempts: response?.attempts ?? [])
  }

  private func error(for reason: UploadMachine.Failure) -> Failure {
    switch reason {
    case .violation(let message): ended(by: .uploadMismatch(message))
    case .tooLarge(let limit): ended(by: .uploadTooLarge(status.length, limit: limit))
    case .tooSmall(let limit):
      ended(
        by: .uploadMismatch("the server takes uploads of \(limit) bytes or more, and the file has \(status.length)"))
    case .asItIs: failure ?? ended(by: .cancelled(requestSent: requests > 0))
    }
  }
}

// MARK: the network

extension UploadRun {
  private mutating func send(
    _ edit: @escaping @Sendable (inout ResourceRequest) throws(TransportError) -> Void
  ) async -> UploadMachine.Event {
    let asking = asking(edit)
    requests += 1
    let event: UploadMachine.Event
    do throws(HTTPFetchError<any Error>) {
      let answer = try await stack.fetch(asking.raw)
      (response, failure) = (answer.response, nil)
      event = take(answer.response)
    } catch {
      failure = error.mapAPIError { $0 as? APIError }
      // Where the content goes to, the server says to the caller once: with an answer, or before it.
      if upload.withLock({ $0 != nil }) { _ = machine.handle(.named) }
      if case .http = error.reason, let answer = error.response {
        response = answer
        event = follow(answer) ? .redirected : .refused(UploadAnswer(answer.head, dialect))
      } else {
        event = .lost(isFinal: !error.mayBeSentAgain)
      }
    }
    tellToken()
    return event
  }

  private mutating func asking(
    _ edit: @escaping @Sendable (inout ResourceRequest) throws(TransportError) -> Void
  ) -> HTTPResource<Model, APIError> {
    let named = upload.withLock { $0 }
    let target = named ?? moved
    // As behind redirects: what another origin says of where to go next gets no credentials, wherever that leads.
    if let target, let origin = try? Origin(target), !origins.contains(origin) { origins = options.credentialOrigins }
    var resource = resource
    let making = self.resource.baseRequestMaking
    let tell = interimTeller(own: resource.options.onInterimResponse, base: target ?? base)
    resource.baseRequestMaking = BaseRequestMaking { () async throws in
      var request = try await making.make()
      if let target { try request.go(to: target) }
      if named != nil {
        // These were of the content, and of the request that makes the upload.
        for name in [HTTPField.Name.contentType, .idempotencyKey] { request.head.headerFields[name] = nil }
        request.body = .empty
      }
      request.options.idempotency = .byMethod
      request.options.requiresBody = false
      request.options.onInterimResponse = tell(request.options.onInterimResponse)
      try edit(&request)
      return request
    }
    // The resource's options go before those of the request, and must not undo what an upload rests on. A redirect that
    // changes the method would lose the content: the others are followed here.
    resource.options.redirects = RedirectPolicy.none
    resource.options.idempotency = .byMethod
    resource.options.requiresBody = false
    resource.options.onInterimResponse = nil
    resource.interceptors.append(UploadCredentials(origins: origins))
    return resource
  }

  /// Makes what is told of interim answers: it reads where the upload is, and then tells the caller's.
  ///
  /// - Parameter own: that of the resource, which goes before that of the request.
  private func interimTeller(
    own: (@Sendable (HTTPResponse) -> Void)?, base: String
  ) -> @Sendable ((@Sendable (HTTPResponse) -> Void)?) -> @Sendable (HTTPResponse) -> Void {
    let (upload, dialect) = (upload, dialect)
    return { asked in
      let caller = own ?? asked
      return { head in
        if let location = dialect.location(ofInterim: head), let url = try? RequestTarget.resolved(location, base) {
          upload.withLock { $0 = $0 ?? url }
        }
        caller?(head)
      }
    }
  }

  private func take(_ answer: ResourceResponse) -> UploadMachine.Event {
    var told = UploadAnswer(answer.head, dialect)
    if let location = told.location {
      // One that cannot be gone to names nothing.
      told.location = try? RequestTarget.resolved(location, answer.url)
      upload.withLock { $0 = $0 ?? told.location }
    }
    return .answered(told)
  }

  /// 307 and 308 keep the method (RFC 9110 §15.4.8, §15.4.9): the upload, or the place where it is made, is elsewhere
  /// from here on.
  ///
  /// - Returns: false for what is not followed, such as a location that leads from https to http.
  private mutating func follow(_ answer: ResourceResponse) -> Bool {
    guard [307, 308].contains(answer.status.code), let location = answer.headerFields[.location],
      let url = try? RequestTarget.resolved(location, answer.url)
    else { return false }
    guard machine.phase == .creating else {
      upload.withLock { $0 = url }
      return true
    }
    // A server that has named the upload, and then sends its making elsewhere, contradicts itself.
    guard upload.withLock({ $0 == nil }) else { return false }
    moved = url
    return true
  }

  private mutating func tellToken() {
    guard !isTold, let url = upload.withLock({ $0 }) else { return }
    isTold = true
    options.onToken?(
      UploadToken(url: url, uploadProtocol: dialect, length: status.length, modified: status.modified))
  }

  private mutating func wait(_ fruitless: Int) async throws(Failure) -> UploadMachine.Event {
    let failure = failure ?? ended(by: .uploadMismatch("the server keeps nothing of what it is sent"))
    switch await losses.wait(after: failure.erased, fruitless: fruitless, response: response) {
    case .waited: return .waited
    case .refused: throw failure
    case .cancelled: throw ended(by: .cancelled(requestSent: true))
    }
  }
}

extension HTTPFetchError {
  /// Whether it may be otherwise the next time.
  fileprivate var mayBeSentAgain: Bool {
    switch (stage, code) {
    case (.timeout, .totalTimeout): false
    case (.response, _), (.send, _), (.connect, _), (.timeout, _), (.resolve, _): true
    default: false
    }
  }
}
