package certify

import "context"

// Conclude is Run without Ginkgo, which runs once in a process: it collects, judges, writes records and
// prints the summary.
func Conclude(ctx context.Context, options Options) (Result, error) {
	options, err := options.withDefaults()
	if err != nil {
		return Result{}, err
	}
	result := Result{RunName: options.RunName}
	all, err := gather(ctx, options, false)
	if err != nil {
		return result, err
	}
	if err := finish(ctx, options, all, &result); err != nil {
		return result, err
	}
	if err := writeFiles(ctx, options, result); err != nil {
		return result, err
	}
	return result, writeSummary(options, result)
}
