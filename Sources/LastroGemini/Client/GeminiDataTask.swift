// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A Gemini request as a task that is resumed, cancelled, and completes once: for code that is written that way.
///
/// The completion is called exactly once: with the response and its body in memory, with an error, or, when the task is
/// cancelled or dropped before, with stage `cancelled`; also where it was never resumed. It runs where the queue says;
/// the task is in state ``State/completed`` by then. Any thread may call everything here.
public final class GeminiDataTask: Cancelable {
  /// Takes the outcome.
  public typealias Completion = @Sendable (Result<GeminiResponse, GeminiError>) -> Void

  /// Where a task is in its life; it only goes forward.
  @frozen
  public enum State: Sendable, Hashable {
    /// ``resume()`` was not called yet.
    case unstarted
    /// Under way.
    case started
    /// It has an outcome, or was cancelled.
    case completed
  }

  /// What is asked for.
  public let request: GeminiRequest
  private let client: GeminiClient
  private let maximumBodyBytes: Int
  private let core: Core

  /// Makes a task. Nothing is sent before ``resume()``.
  ///
  /// - Parameters:
  ///   - request: what to ask for.
  ///   - client: asks.
  ///   - maximumBodyBytes: most bytes of a body; more fail with stage `limit`. Default 16 MiB.
  ///   - queue: where the completion runs. Default: on the thread on which the request ended, or was cancelled.
  ///   - completion: takes the outcome.
  public init(
    request: GeminiRequest, client: GeminiClient, maximumBodyBytes: Int = GeminiClient.defaultMaximumBodyBytes,
    queue: CallbackQueue = .concurrent, completion: @escaping Completion
  ) {
    self.request = request
    self.client = client
    self.maximumBodyBytes = maximumBodyBytes
    core = Core(queue: queue, completion: completion)
  }

  /// Makes a task for a URL, with the defaults of ``init(request:client:maximumBodyBytes:queue:completion:)``.
  ///
  /// - Throws: as ``GeminiURL/init(_:)-(String)``; the completion is not called then.
  public convenience init(
    url: URL, client: GeminiClient, maximumBodyBytes: Int = GeminiClient.defaultMaximumBodyBytes,
    queue: CallbackQueue = .concurrent, completion: @escaping Completion
  ) throws(GeminiError) {
    self.init(
      request: try GeminiRequest(url: url), client: client, maximumBodyBytes: maximumBodyBytes, queue: queue,
      completion: completion)
  }

  deinit { core.cancel(request.url) }

  /// How far the task has come. Any thread may ask.
  public var state: State { core.state }
  /// Whether it was cancelled before it had an outcome.
  public var isCancelled: Bool { core.isCancelled }

  /// Starts it; does nothing for a task that was started, or cancelled.
  public func resume() {
    core.start { [request, client, maximumBodyBytes, core] in
      Task {
        do throws(GeminiError) {
          core.finish(.success(try await client.fetchData(request, upTo: maximumBodyBytes)))
        } catch {
          core.finish(.failure(error))
        }
      }
    }
  }

  /// Gives it up, and closes its connection; does nothing for a task that has completed.
  public func cancel() { core.cancel(request.url) }

  /// What the running request holds on to, so that the task itself can be dropped.
  private final class Core: Sendable {
    private struct Parts {
      var state = State.unstarted
      var isCancelled = false
      var completion: Completion?
      var work: Task<Void, Never>?

      /// - Returns: what is to be told, if this is the first end.
      mutating func complete() -> Completion? {
        defer {
          state = .completed
          completion = nil
          work = nil
        }
        return completion
      }
    }

    private let queue: CallbackQueue
    private let parts: Lock<Parts>

    init(queue: CallbackQueue, completion: @escaping Completion) {
      self.queue = queue
      parts = Lock(Parts(completion: completion))
    }

    var state: State { parts.withLock { $0.state } }
    var isCancelled: Bool { parts.withLock { $0.isCancelled } }

    func start(_ begin: () -> Task<Void, Never>) {
      parts.withLock { parts in
        guard parts.state == .unstarted else { return }
        parts.state = .started
        parts.work = begin()
      }
    }

    func cancel(_ url: GeminiURL) {
      let (completion, work) = parts.withLock { parts -> (Completion?, Task<Void, Never>?) in
        guard parts.state != .completed else { return (nil, nil) }
        parts.isCancelled = true
        let work = parts.work
        return (parts.complete(), work)
      }
      if let completion { queue.run { completion(.failure(.cancelled(url: url))) } }
      work?.cancel()
    }

    func finish(_ result: Result<GeminiResponse, GeminiError>) {
      let completion = parts.withLock { $0.complete() }
      if let completion { queue.run { completion(result) } }
    }
  }
}

extension GeminiClient {
  /// A task for a request, whose body has 16 MiB at most; nothing is sent before it is resumed. Default `queue`: the
  /// thread on which the request ended.
  public func dataTask(
    with request: GeminiRequest, queue: CallbackQueue = .concurrent, completion: @escaping GeminiDataTask.Completion
  ) -> GeminiDataTask { GeminiDataTask(request: request, client: self, queue: queue, completion: completion) }
}
