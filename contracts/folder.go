package contracts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"unicode/utf8"
)

// maxFolderBytes keeps a wrongly named folder (a home directory, say) from being read into memory.
const maxFolderBytes = 16 << 20

// readFolder reads every file below dir, hidden ones too. Anything that is neither a file nor a folder
// is an error rather than left out: the digest says that nothing is.
func readFolder(fsys fs.FS, dir string) (map[string][]byte, error) {
	root, err := fs.Sub(fsys, dir)
	if err != nil {
		return nil, &FileError{File: dir, Message: err.Error()}
	}
	files, total := map[string][]byte{}, int64(0)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return &FileError{File: path.Join(dir, name), Message: plain(err)}
		case !utf8.ValidString(name):
			return &FileError{File: fmt.Sprintf("%+q", path.Join(dir, name)), Message: "the name is not UTF-8"}
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return &FileError{File: path.Join(dir, name), Message: "neither a file nor a folder (a link?)"}
		}
		content, err := readFile(root, name, maxFolderBytes-total)
		if err != nil {
			return &FileError{File: path.Join(dir, name), Message: plain(err)}
		}
		files[name], total = content, total+int64(len(content))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("a contract folder may hold %d MiB at most", maxFolderBytes>>20)
	}
	return content, nil
}

// plain takes operation and path off a file error: the message names the file already.
func plain(err error) string {
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
