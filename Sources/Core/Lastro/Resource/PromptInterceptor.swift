// SPDX-License-Identifier: Apache-2.0

/// An interceptor whose hooks never wait, so that they run on the call's own task.
package protocol PromptInterceptor: HTTPResourceInterceptor {}

extension PromptInterceptor {
  /// False: a hook returns at once.
  public var hooksWait: Bool { false }
}
